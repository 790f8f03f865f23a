package io.mcpparity.server.http;

import io.mcpparity.server.Settings;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.util.InvalidMimeTypeException;
import org.springframework.web.filter.OncePerRequestFilter;

/** Checks 3 to 5 on Streamable HTTP: method, {@code Accept} and {@code Content-Type}. */
class NegotiationFilter extends OncePerRequestFilter {

    private final Set<String> methods;

    NegotiationFilter(Settings.Sessions sessions) {
        this.methods =
                sessions == Settings.Sessions.STATELESS
                        ? Set.of(HttpMethod.POST.name())
                        : Set.of(
                                HttpMethod.POST.name(),
                                HttpMethod.GET.name(),
                                HttpMethod.DELETE.name());
    }

    @Override
    protected void doFilterInternal(
            HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (!methods.contains(request.getMethod())) {
            response.setHeader(HttpHeaders.ALLOW, String.join(", ", methods));
            refuse(
                    response,
                    HttpServletResponse.SC_METHOD_NOT_ALLOWED,
                    "method must be one of " + methods);
        } else if (!HttpMethod.POST.matches(request.getMethod())) {
            chain.doFilter(request, response);
        } else if (!acceptsBoth(Collections.list(request.getHeaders(HttpHeaders.ACCEPT)))) {
            refuse(
                    response,
                    HttpServletResponse.SC_NOT_ACCEPTABLE,
                    "Accept must allow application/json and text/event-stream");
        } else if (!isJson(request.getContentType())) {
            refuse(
                    response,
                    HttpServletResponse.SC_UNSUPPORTED_MEDIA_TYPE,
                    "Content-Type must be application/json");
        } else {
            chain.doFilter(request, response);
        }
    }

    /**
     * An answer may be JSON or an event stream, so a client has to allow both. A missing header
     * allows everything.
     */
    private static boolean acceptsBoth(List<String> headers) {
        if (headers.isEmpty()) {
            return true;
        }
        try {
            List<MediaType> accepted = MediaType.parseMediaTypes(headers);
            return allows(accepted, MediaType.APPLICATION_JSON)
                    && allows(accepted, MediaType.TEXT_EVENT_STREAM);
        } catch (InvalidMediaTypeException e) {
            return false;
        }
    }

    private static boolean allows(List<MediaType> accepted, MediaType type) {
        return accepted.stream()
                .anyMatch(range -> range.includes(type) && range.getQualityValue() > 0);
    }

    private static boolean isJson(String contentType) {
        try {
            return contentType != null
                    && MediaType.parseMediaType(contentType)
                            .equalsTypeAndSubtype(MediaType.APPLICATION_JSON);
        } catch (InvalidMimeTypeException e) {
            return false;
        }
    }

    private static void refuse(HttpServletResponse response, int status, String message)
            throws IOException {
        JsonRpcError.write(response, status, JsonRpcError.INVALID_REQUEST, message, null);
    }
}
