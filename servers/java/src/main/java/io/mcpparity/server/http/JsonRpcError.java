package io.mcpparity.server.http;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.http.MediaType;
import tools.jackson.databind.json.JsonMapper;

/** The JSON-RPC errors that are answered before a request reaches the SDK. */
final class JsonRpcError {

    static final int PARSE_ERROR = -32700;
    static final int INVALID_REQUEST = -32600;
    static final int INVALID_PARAMS = -32602;

    private JsonRpcError() {}

    /**
     * Answers a request with an error.
     *
     * @param status HTTP status
     * @param id the request's id, or {@code null} where it is not known
     */
    static void write(HttpServletResponse response, int status, int code, String message, Object id)
            throws IOException {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("jsonrpc", "2.0");
        body.put("id", id);
        body.put("error", Map.of("code", code, "message", message));
        response.setStatus(status);
        response.setContentType(MediaType.APPLICATION_JSON_VALUE);
        response.getOutputStream()
                .write(
                        JsonMapper.shared()
                                .writeValueAsString(body)
                                .getBytes(StandardCharsets.UTF_8));
    }
}
