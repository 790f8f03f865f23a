package io.mcpparity.server.tools;

import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.stereotype.Component;

/** CPU work of a known size. */
@Component
public class CalculateFibonacci implements Tool {

    @Override
    public String name() {
        return "calculate_fibonacci";
    }

    @Override
    public Map<String, Object> call(Map<String, Object> arguments) {
        int n = ((Number) arguments.get("n")).intValue();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("n", n);
        answer.put("result", fibonacci(n));
        return answer;
    }

    // Plain double recursion is the point: a loop or a memo would measure something else.
    private static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }
}
