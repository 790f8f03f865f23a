package io.mcpparity.server.http;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.MediaType;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What JSON-RPC over HTTP costs without the SDK: a request is answered with its own params. A
 * servlet and not a controller, because the mapping and conversion of Spring MVC cost about as much
 * as the SDK.
 */
class FloorServlet extends HttpServlet {

    private final transient JsonMapper jsonMapper;

    FloorServlet(JsonMapper jsonMapper) {
        this.jsonMapper = jsonMapper;
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        FloorRequest call = jsonMapper.readValue(request.getInputStream(), FloorRequest.class);
        FloorAnswer answer = new FloorAnswer("2.0", call.id, call.params);
        response.setContentType(MediaType.APPLICATION_JSON_VALUE);
        response.getOutputStream().write(jsonMapper.writeValueAsBytes(answer));
    }

    private record FloorRequest(JsonNode id, JsonNode params) {}

    private record FloorAnswer(String jsonrpc, JsonNode id, JsonNode result) {}
}
