package io.mcpparity.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Runs the contract's tool calls against the whole server. Those of fetch_external_data need the
 * upstream service and are left to the gate; {@code FetchExternalDataTest} has its own.
 */
class VectorsTest {

    private static final JsonMapper JSON = JsonMapper.shared();

    private static final Comparator<JsonNode> NUMBERS_BY_VALUE =
            (a, b) -> {
                if (a.isNumber() && b.isNumber()) {
                    // Adding zero makes −0 and 0 one value.
                    return Double.compare(a.doubleValue() + 0.0, b.doubleValue() + 0.0);
                }
                return a.equals(b) ? 0 : 1;
            };

    private static RunningServer server;

    @BeforeAll
    static void start() {
        server = RunningServer.start(Settings.Sessions.STATELESS);
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    static Stream<Vectors.Call> calls() throws IOException {
        return Vectors.calls().stream()
                .filter(call -> !call.tool().equals("fetch_external_data"))
                // A loop in a template; SimulateDbQueryTest has the same rows.
                .filter(call -> !call.expect().toString().contains("{{range"));
    }

    @Test
    void mostVectorsAreRun() throws IOException {
        assertThat(calls()).hasSizeGreaterThan(80);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("calls")
    void call(Vectors.Call call) throws IOException, InterruptedException {
        String arguments = call.arguments() == null ? "" : ",\"arguments\":" + call.arguments();
        HttpResponse<String> response =
                server.post(
                        "{\"jsonrpc\":\"2.0\",\"id\":\"v-1\",\"method\":\"tools/call\",\"params\":{\"name\":\""
                                + call.tool()
                                + "\""
                                + arguments
                                + "}}");
        JsonNode body = JSON.readTree(response.body());
        List<?> alternatives =
                call.expect().get("any_of") instanceof List<?> anyOf
                        ? anyOf
                        : List.of(call.expect());
        assertThat(alternatives)
                .as("status %s, body %.500s", response.statusCode(), response.body())
                .anySatisfy(expect -> check((Map<?, ?>) expect, response.statusCode(), body));
    }

    private static void check(Map<?, ?> expect, int status, JsonNode body) {
        List<?> statuses =
                expect.get("status") instanceof List<?> list
                        ? list
                        : List.of(expect.get("bad_request") == Boolean.TRUE ? 400 : 200);
        assertThat((Object) status).as("status").isIn(statuses);
        if (expect.get("result") instanceof String result) {
            assertThat(body.path("id").stringValue()).isEqualTo("v-1");
            JsonNode wanted = JSON.readTree(Vectors.expand(result));
            JsonNode content = body.at("/result/content");
            assertEqual(body.at("/result/structuredContent"), wanted);
            assertThat(content.size()).isEqualTo(1);
            assertEqual(JSON.readTree(content.at("/0/text").stringValue()), wanted);
            assertThat(body.at("/result/isError").asBoolean(false)).isFalse();
        } else if (expect.get("tool_error") instanceof String word) {
            assertThat(body.at("/result/isError").asBoolean(false)).isTrue();
            assertThat(body.at("/result/content").size()).isEqualTo(1);
            assertThat(body.at("/result/content/0/text").stringValue())
                    .containsPattern("(?<!\\w)" + word + "(?!\\w)");
            assertThat(body.at("/result/structuredContent").isMissingNode()).isTrue();
        } else if (expect.get("rpc_error") instanceof List<?> codes) {
            assertThat((Object) body.at("/error/code").intValue()).isIn(codes);
        } else {
            assertThat(expect.get("bad_request")).isEqualTo(true);
            assertThat(body.at("/error/code").intValue()).isIn(-32700, -32600);
        }
    }

    private static void assertEqual(JsonNode got, JsonNode wanted) {
        assertThat(wanted.equals(NUMBERS_BY_VALUE, got))
                .as("got %.500s, wanted %.500s", got, wanted)
                .isTrue();
    }
}
