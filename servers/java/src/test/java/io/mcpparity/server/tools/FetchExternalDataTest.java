package io.mcpparity.server.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.mcpparity.server.Settings;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.json.JsonMapper;

class FetchExternalDataTest {

    private static final int LIMIT = 1_048_576;

    private final Set<InetSocketAddress> connections = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private HttpServer upstream;
    private FetchExternalData tool;

    @BeforeEach
    void start() throws IOException {
        upstream = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        upstream.setExecutor(threads);
        upstream.createContext("/", this::answer);
        upstream.start();
        tool = tool(upstream.getAddress().getPort());
    }

    @AfterEach
    void stop() {
        upstream.stop(0);
        threads.shutdownNow();
    }

    private static FetchExternalData tool(int port) {
        Settings settings =
                new Settings(
                        "127.0.0.1",
                        8080,
                        URI.create("http://127.0.0.1:" + port),
                        Settings.Sessions.STATELESS,
                        Settings.Transport.HTTP,
                        Settings.LogLevel.INFO);
        return new FetchExternalData(settings, RestClient.builder(), JsonMapper.shared());
    }

    private void answer(HttpExchange exchange) throws IOException {
        connections.add(exchange.getRemoteAddress());
        switch (exchange.getRequestURI().getPath()) {
            case "/item" -> send(exchange, 200, "{\"a\":[1,null]}");
            case "/null" -> send(exchange, 404, "null");
            case "/redirect" -> {
                exchange.getResponseHeaders().add("Location", "/item");
                send(exchange, 302, "\"moved\"");
            }
            case "/empty" -> send(exchange, 200, "");
            case "/html" -> send(exchange, 200, "<p>");
            case "/two" -> send(exchange, 200, "1 2");
            case "/largest" -> send(exchange, 200, "\"" + "a".repeat(LIMIT - 2) + "\"");
            case "/too-large" -> send(exchange, 200, "\"" + "a".repeat(LIMIT - 1) + "\"");
            case "/drip" -> drip(exchange);
            default -> exchange.close();
        }
    }

    private static void send(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    /** Never silent for long, and never done. */
    private static void drip(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            while (true) {
                out.write(' ');
                out.flush();
                Thread.sleep(200);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Map<String, Object> fetch(String endpoint) throws ToolException {
        return tool.call(Map.of("endpoint", endpoint));
    }

    @Test
    void returnsStatusAndBody() throws ToolException {
        Map<String, Object> answer = fetch("/item");
        assertThat(answer).containsEntry("endpoint", "/item").containsEntry("status", 200);
        assertThat(JsonMapper.shared().writeValueAsString(answer.get("body")))
                .isEqualTo("{\"a\":[1,null]}");
    }

    @Test
    void anyStatusAndAnyJsonIsAnAnswer() throws ToolException {
        assertThat(fetch("/null")).containsEntry("status", 404).containsEntry("body", null);
        assertThat(fetch("/redirect")).containsEntry("status", 302).containsEntry("body", "moved");
    }

    @Test
    void keepsItsConnection() throws ToolException {
        for (int i = 0; i < 20; i++) {
            fetch("/item");
        }
        assertThat(connections).hasSize(1);
    }

    @Test
    void takesOneMebibyteAndNoMore() throws ToolException {
        assertThat(fetch("/largest").get("body")).asString().hasSize(LIMIT - 2);
        assertFails("/too-large", "more than 1048576 bytes");
    }

    @Test
    void refusesWhatIsNotJson() {
        assertFails("/empty", "not JSON");
        assertFails("/html", "not JSON");
        assertFails("/two", "not JSON");
    }

    @Test
    void refusesAnAnswerThatNeverEnds() {
        long start = System.nanoTime();
        assertFails("/drip", "upstream");
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isBetween(Duration.ofSeconds(5), Duration.ofSeconds(7));
    }

    @Test
    void saysThatTheUpstreamFailed() {
        assertFails("/close", "upstream");
        tool = tool(1);
        assertFails("/item", "upstream");
    }

    private void assertFails(String endpoint, String message) {
        assertThatExceptionOfType(ToolException.class)
                .isThrownBy(() -> fetch(endpoint))
                .withMessageContaining(message);
    }
}
