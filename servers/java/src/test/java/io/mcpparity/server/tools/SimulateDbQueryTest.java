package io.mcpparity.server.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SimulateDbQueryTest {

    private final SimulateDbQuery tool = new SimulateDbQuery();

    @Test
    void rowsDependOnTheirIndex() throws ToolException {
        List<?> wanted =
                IntStream.range(0, 1000)
                        .mapToObj(i -> Map.of("id", i, "name", "row-" + i, "value", i * 37 % 1000))
                        .toList();
        Map<String, Object> answer = tool.call(Map.of("query", "q", "delay_ms", 0, "rows", 1000));
        assertThat(answer.get("rows")).isEqualTo(wanted);
    }

    @Test
    void waitsAtLeastAsLongAsAsked() throws ToolException {
        long start = System.nanoTime();
        tool.call(Map.of("query", "q", "delay_ms", 120, "rows", 0));
        assertThat(System.nanoTime() - start)
                .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(120));
    }
}
