package io.mcpparity.server.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

// In a thread of its own: one that waits for the network cannot be interrupted.
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExchangeLimitsTest {

    private static final Duration TIMEOUT = Duration.ofMillis(500);
    private static final int MAX_BODY = 100;

    private ServerSocket upstream;
    private ExchangeLimits limits;
    private CloseableHttpClient client;

    @BeforeEach
    void start() throws IOException {
        upstream = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        limits = new ExchangeLimits(TIMEOUT, MAX_BODY);
        client =
                HttpClients.custom()
                        .addExecInterceptorFirst("limits", limits)
                        .disableAutomaticRetries()
                        .build();
    }

    @AfterEach
    void stop() throws IOException {
        client.close();
        limits.close();
        upstream.close();
    }

    /** Answers one request with this, then with a byte every 50 ms if it is to go on. */
    private void answer(String text, boolean goesOn) {
        Thread thread =
                new Thread(
                        () -> {
                            try (Socket connection = upstream.accept()) {
                                OutputStream out = connection.getOutputStream();
                                out.write(text.getBytes(StandardCharsets.US_ASCII));
                                while (goesOn) {
                                    Thread.sleep(50);
                                    out.write('a');
                                }
                            } catch (IOException | InterruptedException e) {
                                // The client hung up, or never came.
                            }
                        });
        thread.setDaemon(true);
        thread.start();
    }

    private static String head(int bodyBytes) {
        return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + bodyBytes + "\r\n\r\n";
    }

    private String get() throws IOException {
        return client.execute(
                new HttpGet("http://127.0.0.1:" + upstream.getLocalPort()),
                response ->
                        response.getEntity() == null
                                ? null
                                : EntityUtils.toString(response.getEntity()));
    }

    private void assertFailsInTime() {
        long start = System.nanoTime();
        assertThatIOException().isThrownBy(this::get);
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isBetween(TIMEOUT, TIMEOUT.plusSeconds(2));
    }

    @Test
    void handsOnWhatIsWithinThem() throws IOException {
        String largest = "a".repeat(MAX_BODY);
        answer(head(MAX_BODY) + largest, false);
        assertThat(get()).isEqualTo(largest);
        answer("HTTP/1.1 204 No Content\r\n\r\n", false);
        assertThat(get()).isNull();
    }

    @Test
    void refusesALargerBody() {
        answer(head(MAX_BODY + 1) + "a".repeat(MAX_BODY + 1), false);
        assertThatIOException()
                .isThrownBy(this::get)
                .isInstanceOf(ExchangeLimits.BodyTooLargeException.class);
    }

    @Test
    void refusesABodyThatIsCutOff() {
        answer(head(4) + "abc", false);
        assertThatIOException().isThrownBy(this::get);
    }

    @Test
    void endsAnExchangeWhoseHeadTrickles() {
        answer("HTTP/1.1 200 OK\r\nX-Long: ", true);
        assertFailsInTime();
    }

    @Test
    void endsAnExchangeWhoseBodyTrickles() {
        answer(head(MAX_BODY), true);
        assertFailsInTime();
    }

    @Test
    void endsAnExchangeThatFindsNoConnection() throws IOException {
        List<Socket> waiting = new ArrayList<>();
        try {
            fillQueue(waiting);
            assertFailsInTime();
        } finally {
            for (Socket socket : waiting) {
                socket.close();
            }
        }
    }

    /** Connects to the upstream, which accepts no one, until the next to come has to wait. */
    private void fillQueue(List<Socket> waiting) throws IOException {
        try {
            while (true) {
                Socket socket = new Socket();
                waiting.add(socket);
                socket.connect(upstream.getLocalSocketAddress(), 100);
            }
        } catch (SocketTimeoutException e) {
            // Full.
        }
    }
}
