package io.mcpparity.server.http;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.JsonNode;

/**
 * Everything that is not MCP. Content types are set and not negotiated, because the Accept header
 * of an MCP client does not list them.
 */
@RestController
class PlainController {

    private static final MediaType PROMETHEUS_TEXT =
            MediaType.parseMediaType("text/plain; version=0.0.4; charset=utf-8");

    private final PrometheusMeterRegistry metrics;

    PlainController(PrometheusMeterRegistry metrics) {
        this.metrics = metrics;
    }

    /** The web server listens only once everything behind it is ready: an answer is the proof. */
    @GetMapping("/healthz")
    ResponseEntity<String> healthz() {
        return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body("ok");
    }

    /** What HTTP costs in this runtime and framework. */
    @GetMapping("/hello")
    ResponseEntity<String> hello() {
        return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body("Hello!");
    }

    /** What JSON-RPC over HTTP costs without the SDK. */
    @PostMapping("/floor")
    ResponseEntity<FloorAnswer> floor(@RequestBody FloorRequest request) {
        return ResponseEntity.ok()
                .contentType(MediaType.APPLICATION_JSON)
                .body(new FloorAnswer("2.0", request.id, request.params));
    }

    @GetMapping("/metrics")
    ResponseEntity<String> metrics() {
        return ResponseEntity.ok().contentType(PROMETHEUS_TEXT).body(metrics.scrape());
    }

    private record FloorRequest(JsonNode id, JsonNode params) {}

    private record FloorAnswer(String jsonrpc, JsonNode id, JsonNode result) {}
}
