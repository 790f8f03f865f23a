package io.mcpparity.server.http;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.JsonNode;

/** Everything that is not MCP. */
@RestController
class PlainController {

    private final PrometheusMeterRegistry metrics;

    PlainController(PrometheusMeterRegistry metrics) {
        this.metrics = metrics;
    }

    /**
     * The web server listens only once everything behind it is ready, so an answer is the proof.
     */
    @GetMapping(path = "/healthz", produces = MediaType.TEXT_PLAIN_VALUE)
    String healthz() {
        return "ok";
    }

    @GetMapping(path = "/hello", produces = MediaType.TEXT_PLAIN_VALUE)
    String hello() {
        return "Hello!";
    }

    /** JSON-RPC over HTTP without the SDK, for the comparison with it. */
    @PostMapping(path = "/floor", produces = MediaType.APPLICATION_JSON_VALUE)
    FloorAnswer floor(@RequestBody FloorRequest request) {
        return new FloorAnswer("2.0", request.id, request.params);
    }

    @GetMapping(path = "/metrics", produces = "text/plain; version=0.0.4; charset=utf-8")
    String metrics() {
        return metrics.scrape();
    }

    private record FloorRequest(JsonNode id, JsonNode params) {}

    private record FloorAnswer(String jsonrpc, JsonNode id, JsonNode result) {}
}
