package io.mcpparity.server.tools;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hc.client5.http.classic.ExecChain;
import org.apache.hc.client5.http.classic.ExecChainHandler;
import org.apache.hc.core5.concurrent.Cancellable;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.HttpEntity;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Bounds each exchange of an HTTP client: its time, from the search for a connection to the last
 * byte of the body, and the size of that body. The client's own timeouts are for one read each, and
 * so no bound for an answer that trickles.
 */
class ExchangeLimits implements ExecChainHandler, Closeable {

    /** The body of an answer is larger than is allowed. */
    static class BodyTooLargeException extends IOException {
        BodyTooLargeException(int maxBodyBytes) {
            super("the body is larger than " + maxBodyBytes + " bytes");
        }
    }

    private final Duration timeout;
    private final int maxBodyBytes;
    private final ScheduledThreadPoolExecutor timer;

    /**
     * @param timeout after which an exchange fails
     * @param maxBodyBytes the size of the largest body
     */
    ExchangeLimits(Duration timeout, int maxBodyBytes) {
        this.timeout = timeout;
        this.maxBodyBytes = maxBodyBytes;
        CustomizableThreadFactory threads = new CustomizableThreadFactory("exchange-limits-");
        threads.setDaemon(true);
        this.timer = new ScheduledThreadPoolExecutor(1, threads);
        // Otherwise every exchange of the last seconds stays in memory.
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Returns an answer whose body has been read, from a connection that is free again. */
    @Override
    public ClassicHttpResponse execute(
            ClassicHttpRequest request, ExecChain.Scope scope, ExecChain chain)
            throws IOException, HttpException {
        Cancellable exchange = (Cancellable) scope.originalRequest;
        Future<?> deadline =
                timer.schedule(exchange::cancel, timeout.toNanos(), TimeUnit.NANOSECONDS);
        try {
            ClassicHttpResponse response = chain.proceed(request, scope);
            HttpEntity entity = response.getEntity();
            if (entity != null) {
                response.setEntity(buffered(entity));
            }
            return response;
        } finally {
            deadline.cancel(false);
            // Closes the connection of an exchange that failed, rather than read the rest of its
            // body. After one that succeeded the pool has it back, and this does nothing.
            scope.execRuntime.discardEndpoint();
        }
    }

    private HttpEntity buffered(HttpEntity entity) throws IOException {
        // One byte more than is allowed tells a body that is too large.
        byte[] body = entity.getContent().readNBytes(maxBodyBytes + 1);
        if (body.length > maxBodyBytes) {
            throw new BodyTooLargeException(maxBodyBytes);
        }
        return new ByteArrayEntity(body, null);
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }
}
