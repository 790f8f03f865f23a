package io.mcpparity.server.http;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

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

    @GetMapping("/metrics")
    ResponseEntity<String> metrics() {
        return ResponseEntity.ok().contentType(PROMETHEUS_TEXT).body(metrics.scrape());
    }
}
