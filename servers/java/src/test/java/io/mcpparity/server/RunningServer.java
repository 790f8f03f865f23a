package io.mcpparity.server;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;

/** The whole server, in this JVM, on a free port. */
final class RunningServer implements AutoCloseable {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private final ServletWebServerApplicationContext context;

    private RunningServer(ServletWebServerApplicationContext context) {
        this.context = context;
    }

    static RunningServer start(Settings.Sessions sessions) {
        // Nothing listens on port 1.
        URI upstream = URI.create("http://127.0.0.1:1");
        Settings settings =
                new Settings(
                        "127.0.0.1",
                        0,
                        upstream,
                        sessions,
                        Settings.Transport.HTTP,
                        Settings.LogLevel.ERROR);
        return new RunningServer(
                (ServletWebServerApplicationContext) ServerApplication.application(settings).run());
    }

    /** Sends one request. Headers come in pairs of name and value. */
    HttpResponse<String> send(String method, String path, String body, String... headers)
            throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(
                                URI.create(
                                        "http://127.0.0.1:"
                                                + context.getWebServer().getPort()
                                                + path))
                        .method(method, HttpRequest.BodyPublishers.ofString(body));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    /**
     * Posts a message to /mcp with the headers that a client sends; more can be added, in pairs.
     */
    HttpResponse<String> post(String message, String... headers)
            throws IOException, InterruptedException {
        String[] usual = {
            "Content-Type", "application/json", "Accept", "application/json, text/event-stream"
        };
        String[] all = Arrays.copyOf(usual, usual.length + headers.length);
        System.arraycopy(headers, 0, all, usual.length, headers.length);
        return send("POST", "/mcp", message, all);
    }

    @Override
    public void close() {
        context.close();
    }
}
