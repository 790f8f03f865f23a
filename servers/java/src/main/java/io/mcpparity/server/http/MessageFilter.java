package io.mcpparity.server.http;

import io.mcpparity.server.Settings;
import io.mcpparity.server.mcp.ProtocolRevisions;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.HttpMethod;
import org.springframework.web.filter.OncePerRequestFilter;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks 6 to 8: size, protocol version, and whether the body is a message that the SDK can be
 * given. The SDK's transports have no limit on size, and answer what they cannot read with a server
 * error or not at all.
 */
class MessageFilter extends OncePerRequestFilter {

    /** 4 MiB. */
    static final int MAX_BODY_BYTES = 4_194_304;

    private static final String PROTOCOL_VERSION = "MCP-Protocol-Version";

    private final MessageCheck check;
    private final boolean answersOnStream;

    /**
     * @param transport over HTTP+SSE an answer belongs on the client's stream, where only the SDK
     *     can write, so that wrong parameters are left to it
     */
    MessageFilter(JsonMapper jsonMapper, Settings.Transport transport) {
        this.check = new MessageCheck(jsonMapper);
        this.answersOnStream = transport == Settings.Transport.SSE;
    }

    @Override
    protected void doFilterInternal(
            HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        boolean post = HttpMethod.POST.matches(request.getMethod());
        byte[] body = post ? readBody(request) : null;
        if (post && body == null) {
            JsonRpcError.write(
                    response,
                    HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE,
                    JsonRpcError.INVALID_REQUEST,
                    "body is larger than " + MAX_BODY_BYTES + " bytes",
                    null);
            return;
        }
        String version = request.getHeader(PROTOCOL_VERSION);
        if (version != null && !ProtocolRevisions.ALL.contains(version)) {
            JsonRpcError.write(
                    response,
                    HttpServletResponse.SC_BAD_REQUEST,
                    JsonRpcError.INVALID_REQUEST,
                    PROTOCOL_VERSION + " must be one of " + ProtocolRevisions.ALL,
                    null);
            return;
        }
        if (!post) {
            chain.doFilter(request, response);
            return;
        }
        try {
            check.check(body);
        } catch (MessageCheck.RefusedException e) {
            boolean answer = e.status() == HttpServletResponse.SC_OK;
            if (!(answer && answersOnStream)) {
                JsonRpcError.write(response, e.status(), e.code(), e.getMessage(), e.id());
                return;
            }
        }
        chain.doFilter(new BufferedRequest(request, body), response);
    }

    /** Reads the body, or returns {@code null} if it is too large, as soon as that is known. */
    private static byte[] readBody(HttpServletRequest request) throws IOException {
        if (request.getContentLengthLong() > MAX_BODY_BYTES) {
            return null;
        }
        byte[] body = request.getInputStream().readNBytes(MAX_BODY_BYTES + 1);
        return body.length > MAX_BODY_BYTES ? null : body;
    }
}
