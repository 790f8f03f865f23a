package io.mcpparity.server.http;

import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.Phaser;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.http.HttpMethod;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Ends the sessions while the web server drains, as soon as the last call is answered. A client's
 * open GET stream is a request in flight to the web server, which would wait for it in vain; but a
 * session that ends takes its unanswered calls with it, so the calls come first.
 */
class SessionDrain extends OncePerRequestFilter implements SmartLifecycle {

    private final ObjectProvider<McpServerTransportProviderBase> transport;

    /** Its first party is the shutdown, each other one a call. */
    private final Phaser calls = new Phaser(1);

    private volatile boolean running;

    /**
     * @param transport what has the sessions; there is none on a stateless server
     */
    SessionDrain(ObjectProvider<McpServerTransportProviderBase> transport) {
        this.transport = transport;
    }

    @Override
    protected void doFilterInternal(
            HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        calls.register();
        try {
            chain.doFilter(request, response);
        } finally {
            calls.arriveAndDeregister();
        }
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest request) {
        return !HttpMethod.POST.matches(request.getMethod());
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        calls.arriveAndAwaitAdvance();
        transport.ifAvailable(sessions -> sessions.closeGracefully().block());
        running = false;
    }

    /** Waits beside the web server, not before it: both share the time that a shutdown may take. */
    @Override
    public void stop(Runnable whenStopped) {
        Thread thread =
                new Thread(
                        () -> {
                            stop();
                            whenStopped.run();
                        },
                        "session-drain");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE;
    }
}
