package io.mcpparity.server.tools;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.stereotype.Component;

/** A walk over any JSON object: keys, an upper-cased copy, counts and depth. */
@Component
public class ProcessJsonData implements Tool {

    private static final int MAX_DEPTH = 64;
    private static final long MAX_MAGNITUDE = (1L << 53) - 1;

    @Override
    public String name() {
        return "process_json_data";
    }

    @Override
    public Map<String, Object> call(Map<String, Object> arguments) throws ToolException {
        Map<?, ?> data = (Map<?, ?>) arguments.get("data");
        Walk walk = new Walk();
        Object copy = walk.copy(data, 1);
        List<String> keys = new ArrayList<>(data.size());
        data.keySet().forEach(key -> keys.add((String) key));
        keys.sort(Text.BY_CODE_POINT);

        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("keys", keys);
        answer.put("data", copy);
        answer.put("counts", walk.counts());
        answer.put("depth", walk.depth);
        return answer;
    }

    /** One pass over a value. */
    private static final class Walk {
        private int objects;
        private int arrays;
        private int strings;
        private int numbers;
        private int booleans;
        private int nulls;
        private int depth;

        /**
         * Copies a value, counting what is in it.
         *
         * @param level the level of nesting that the value has if it is an object or array, from 1
         */
        Object copy(Object value, int level) throws ToolException {
            if (value == null) {
                nulls++;
                return null;
            }
            if (value instanceof String string) {
                strings++;
                Text.requireWellFormed("data", string);
                return Text.upperCaseAscii(string);
            }
            if (value instanceof Number number) {
                numbers++;
                requireExact(number);
                return number;
            }
            if (value instanceof Boolean) {
                booleans++;
                return value;
            }
            if (level > MAX_DEPTH) {
                throw new ToolException("data is nested more than " + MAX_DEPTH + " levels deep");
            }
            depth = Math.max(depth, level);
            return value instanceof Map<?, ?> object
                    ? copyObject(object, level)
                    : copyArray((List<?>) value, level);
        }

        private Map<String, Object> copyObject(Map<?, ?> object, int level) throws ToolException {
            objects++;
            Map<String, Object> copy = new LinkedHashMap<>();
            for (Map.Entry<?, ?> member : object.entrySet()) {
                String key = (String) member.getKey();
                Text.requireWellFormed("data", key);
                copy.put(key, copy(member.getValue(), level + 1));
            }
            return copy;
        }

        private List<Object> copyArray(List<?> array, int level) throws ToolException {
            arrays++;
            List<Object> copy = new ArrayList<>(array.size());
            for (Object element : array) {
                copy.add(copy(element, level + 1));
            }
            return copy;
        }

        Map<String, Object> counts() {
            Map<String, Object> counts = new LinkedHashMap<>();
            counts.put("objects", objects);
            counts.put("arrays", arrays);
            counts.put("strings", strings);
            counts.put("numbers", numbers);
            counts.put("booleans", booleans);
            counts.put("nulls", nulls);
            return counts;
        }

        private static void requireExact(Number number) throws ToolException {
            // Math.abs(Long.MIN_VALUE) is negative, hence the two sides for integers.
            boolean exact =
                    number instanceof Double real
                            ? Math.abs(real) <= MAX_MAGNITUDE
                            : !(number instanceof BigInteger)
                                    && number.longValue() >= -MAX_MAGNITUDE
                                    && number.longValue() <= MAX_MAGNITUDE;
            if (!exact) {
                throw new ToolException("data contains a number beyond ±" + MAX_MAGNITUDE);
            }
        }
    }
}
