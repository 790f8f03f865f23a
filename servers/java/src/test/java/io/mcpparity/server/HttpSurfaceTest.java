package io.mcpparity.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What the filters mend, and what is wired up around the SDK. */
class HttpSurfaceTest {

    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    private static final JsonMapper JSON = JsonMapper.shared();

    private static RunningServer stateless;
    private static RunningServer stateful;

    @BeforeAll
    static void start() {
        stateless = RunningServer.start(Settings.Sessions.STATELESS);
        stateful = RunningServer.start(Settings.Sessions.STATEFUL);
    }

    @AfterAll
    static void stop() {
        stateless.close();
        stateful.close();
    }

    @Test
    void toolsAreTheContracts() throws IOException, InterruptedException {
        HttpResponse<String> response =
                stateless.post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        JsonNode tools = JSON.readTree(response.body()).at("/result/tools");
        Set<Path> files = new TreeSet<>();
        try (var folder = Files.newDirectoryStream(Path.of("../../contract/tools"), "*.json")) {
            folder.forEach(files::add);
        }
        assertThat(tools.size()).isEqualTo(files.size()).isPositive();
        int i = 0;
        for (Path file : files) {
            assertThat(tools.get(i++)).isEqualTo(JSON.readTree(Files.readString(file)));
        }
    }

    @Test
    void plainEndpoints() throws IOException, InterruptedException {
        assertThat(stateless.send("GET", "/hello", "").body()).isEqualTo("Hello!");
        String accept = "application/json, text/event-stream";
        assertThat(stateless.send("GET", "/hello", "", "Accept", accept).body())
                .isEqualTo("Hello!");
        assertThat(stateless.send("GET", "/healthz", "").statusCode()).isEqualTo(200);
        assertThat(stateless.send("GET", "/metrics", "").body()).contains("jvm_memory_used_bytes");
        HttpResponse<String> floor =
                stateless.send(
                        "POST",
                        "/floor",
                        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{\"x\":[null,1.5]}}",
                        "Content-Type",
                        "application/json");
        assertThat(floor.body())
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"x\":[null,1.5]}}");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "400 | -32700 | ``",
                "400 | -32700 | {",
                "400 | -32700 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
                "400 | -32600 | []",
                "400 | -32600 | {\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
                "400 | -32600 | {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
                "400 | -32600 | {\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
                "400 | -32600 | {\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}",
                "400 | -32600 | {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                "200 | -32601 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
                "200 | -32602 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
                "200 | -32602 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
                "200 | -32602 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}",
                "200 | -32602 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":1}}",
                "200 | -32602 | {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                        + "\"params\":{\"name\":\"calculate_fibonacci\",\"arguments\":[]}}",
            })
    void badMessages(int status, int code, String message)
            throws IOException, InterruptedException {
        HttpResponse<String> response = stateless.post(message);
        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(JSON.readTree(response.body()).at("/error/code").intValue()).isEqualTo(code);
    }

    @ParameterizedTest
    @CsvSource({
        "200, Origin, http://localhost:1",
        "403, Origin, http://evil.example",
        "403, Origin, null",
        "200, MCP-Protocol-Version, 2024-11-05",
        "400, MCP-Protocol-Version, 2099-01-01",
    })
    void headers(int status, String name, String value) throws IOException, InterruptedException {
        assertThat(stateless.post(PING, name, value).statusCode()).isEqualTo(status);
    }

    @Test
    void negotiation() throws IOException, InterruptedException {
        assertThat(
                        stateless
                                .send("POST", "/mcp", PING, "Content-Type", "application/json")
                                .statusCode())
                .isEqualTo(200);
        assertThat(
                        stateless
                                .send(
                                        "POST",
                                        "/mcp",
                                        PING,
                                        "Content-Type",
                                        "application/json",
                                        "Accept",
                                        "text/html")
                                .statusCode())
                .isEqualTo(406);
        assertThat(stateless.send("POST", "/mcp", PING, "Content-Type", "text/plain").statusCode())
                .isEqualTo(415);
        assertThat(stateless.send("GET", "/mcp", "").statusCode()).isEqualTo(405);
        assertThat(stateful.send("PUT", "/mcp", "").statusCode()).isEqualTo(405);
    }

    @Test
    void sizeLimit() throws IOException, InterruptedException {
        assertThat(stateless.post(" ".repeat(4_194_304 - PING.length()) + PING).statusCode())
                .isEqualTo(200);
        assertThat(stateless.post(" ".repeat(4_194_305 - PING.length()) + PING).statusCode())
                .isEqualTo(413);
    }

    @Test
    void everyRevision() throws IOException, InterruptedException {
        for (RunningServer server : List.of(stateless, stateful)) {
            for (String revision :
                    List.of("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")) {
                assertThat(agreedRevision(server, revision)).isEqualTo(revision);
            }
            assertThat(agreedRevision(server, "2099-01-01")).isEqualTo("2025-11-25");
        }
    }

    private static String agreedRevision(RunningServer server, String wanted)
            throws IOException, InterruptedException {
        return JSON.readTree(server.post(initialize(wanted)).body())
                .at("/result/protocolVersion")
                .stringValue();
    }

    private static String initialize(String revision) {
        return "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\""
                + revision
                + "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}";
    }

    @Test
    void session() throws IOException, InterruptedException {
        String id =
                stateful.post(initialize("2025-11-25"))
                        .headers()
                        .firstValue("Mcp-Session-Id")
                        .orElseThrow();
        assertThat(stateful.post(PING, "Mcp-Session-Id", id).body())
                .contains("data:{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        assertThat(stateful.send("DELETE", "/mcp", "", "Mcp-Session-Id", id).statusCode())
                .isEqualTo(200);

        HttpResponse<String> ended = stateful.post(PING, "Mcp-Session-Id", id);
        assertThat(ended.statusCode()).isEqualTo(404);
        HttpResponse<String> missing = stateful.post(PING);
        assertThat(missing.statusCode()).isEqualTo(400);
        // A JSON-RPC error, and not the exception that Spring AI puts into the body.
        for (HttpResponse<String> response : List.of(ended, missing)) {
            assertThat(JSON.readTree(response.body()).propertyNames())
                    .containsExactly("jsonrpc", "id", "error");
        }
    }
}
