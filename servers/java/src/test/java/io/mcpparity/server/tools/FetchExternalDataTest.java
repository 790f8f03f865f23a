package io.mcpparity.server.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.sun.net.httpserver.Headers;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.json.JsonMapper;

// In a thread of its own: one that waits for the network cannot be interrupted.
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FetchExternalDataTest {

    private static final int LIMIT = 1_048_576;
    private static final int MANY = 300;

    private final Set<InetSocketAddress> connections = ConcurrentHashMap.newKeySet();
    private final List<Headers> requests = new CopyOnWriteArrayList<>();
    private final CyclicBarrier allTogether = new CyclicBarrier(MANY);
    private final CountDownLatch hungUp = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private HttpServer upstream;
    private FetchExternalData tool;

    @BeforeEach
    void start() throws IOException {
        upstream =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), MANY);
        upstream.setExecutor(threads);
        upstream.createContext("/", this::answer);
        upstream.start();
        tool = tool(upstream.getAddress().getPort());
    }

    @AfterEach
    void stop() throws IOException {
        tool.close();
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
        requests.add(exchange.getRequestHeaders());
        switch (exchange.getRequestURI().getPath()) {
            case "/item" -> send(exchange, 200, "{\"a\":[1,null]}");
            case "/null" -> send(exchange, 404, "null");
            case "/redirect" -> {
                exchange.getResponseHeaders().add("Location", "/item");
                send(exchange, 302, "\"moved\"");
            }
            case "/busy" -> {
                exchange.getResponseHeaders().add("Retry-After", "0");
                send(exchange, 503, "\"busy\"");
            }
            case "/log-in" -> {
                exchange.getResponseHeaders().add("WWW-Authenticate", "Basic realm=\"a\"");
                exchange.getResponseHeaders().add("Set-Cookie", "a=b");
                send(exchange, 401, "\"who are you?\"");
            }
            case "/together" -> together(exchange);
            case "/empty" -> send(exchange, 200, "");
            case "/html" -> send(exchange, 200, "<p>");
            case "/two" -> send(exchange, 200, "1 2");
            case "/largest" -> send(exchange, 200, "\"" + "a".repeat(LIMIT - 2) + "\"");
            case "/too-large" -> send(exchange, 200, "\"" + "a".repeat(LIMIT - 1) + "\"");
            case "/endless" -> endless(exchange);
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

    /** Answers no one before all are here. */
    private void together(HttpExchange exchange) throws IOException {
        try {
            allTogether.await();
            send(exchange, 200, "true");
        } catch (InterruptedException | BrokenBarrierException e) {
            exchange.close();
        }
    }

    /** Writes until the other side hangs up. */
    private void endless(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            byte[] spaces = " ".repeat(65_536).getBytes(StandardCharsets.UTF_8);
            while (true) {
                out.write(spaces);
            }
        } finally {
            hungUp.countDown();
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
    void opensAsManyConnectionsAsThereAreCalls() throws Exception {
        List<Future<Map<String, Object>>> calls = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            calls.add(threads.submit(() -> fetch("/together")));
        }
        for (Future<Map<String, Object>> call : calls) {
            assertThat(call.get()).containsEntry("body", true);
        }
        assertThat(connections).hasSize(MANY);
    }

    @Test
    void sendsEachRequestOnceAndNothingOfItsOwn() throws ToolException {
        assertThat(fetch("/busy")).containsEntry("status", 503).containsEntry("body", "busy");
        assertThat(fetch("/log-in")).containsEntry("status", 401);
        assertThat(fetch("/redirect")).containsEntry("status", 302);
        assertFails("/close", "upstream");
        assertThat(requests)
                .hasSize(4)
                .allSatisfy(
                        headers ->
                                assertThat(headers)
                                        .doesNotContainKeys(
                                                "Accept-encoding",
                                                "Authorization",
                                                "Cookie",
                                                "Upgrade"));
    }

    @Test
    void takesOneMebibyteAndNoMore() throws ToolException {
        assertThat(fetch("/largest").get("body")).asString().hasSize(LIMIT - 2);
        assertFails("/too-large", "more than 1048576 bytes");
        assertThat(fetch("/item")).containsEntry("status", 200);
    }

    @Test
    void hangsUpOnABodyThatIsTooLarge() throws InterruptedException {
        assertTimeoutPreemptively(
                Duration.ofSeconds(4), () -> assertFails("/endless", "more than 1048576 bytes"));
        assertThat(hungUp.await(4, TimeUnit.SECONDS)).isTrue();
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
    void saysThatTheUpstreamFailed() throws IOException {
        assertFails("/close", "upstream");
        tool.close();
        tool = tool(1);
        assertFails("/item", "upstream");
    }

    private void assertFails(String endpoint, String message) {
        assertThatExceptionOfType(ToolException.class)
                .isThrownBy(() -> fetch(endpoint))
                .withMessageContaining(message);
    }
}
