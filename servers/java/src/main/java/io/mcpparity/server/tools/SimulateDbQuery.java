package io.mcpparity.server.tools;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.stereotype.Component;

/** Waiting, as for a database, then rows that depend only on their index. */
@Component
public class SimulateDbQuery implements Tool {

    private static final int DEFAULT_DELAY_MS = 10;
    private static final int DEFAULT_ROWS = 10;

    @Override
    public String name() {
        return "simulate_db_query";
    }

    @Override
    public Map<String, Object> call(Map<String, Object> arguments) throws ToolException {
        String query = (String) arguments.get("query");
        Text.requireWellFormed("query", query);
        int delayMs = integer(arguments, "delay_ms", DEFAULT_DELAY_MS);
        int rows = integer(arguments, "rows", DEFAULT_ROWS);
        try {
            // Blocks this call's own thread only, a virtual one where the runtime has them.
            Thread.sleep(delayMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ToolException(
                    "the wait of delay_ms was interrupted because the server is stopping", e);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("query", query);
        answer.put("delay_ms", delayMs);
        answer.put("rows", rows(rows));
        return answer;
    }

    private static int integer(Map<String, Object> arguments, String name, int fallback) {
        return arguments.get(name) instanceof Number number ? number.intValue() : fallback;
    }

    private static List<Map<String, Object>> rows(int count) {
        List<Map<String, Object>> rows = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("id", i);
            row.put("name", "row-" + i);
            row.put("value", i * 37 % 1000);
            rows.add(row);
        }
        return rows;
    }
}
