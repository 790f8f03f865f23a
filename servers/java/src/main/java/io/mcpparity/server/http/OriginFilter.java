package io.mcpparity.server.http;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import org.springframework.http.HttpHeaders;
import org.springframework.web.filter.OncePerRequestFilter;

/** Checks 1 and 2: refuses a foreign {@code Host} or {@code Origin}, which stops DNS rebinding. */
class OriginFilter extends OncePerRequestFilter {

    private final AllowedHosts allowed;

    OriginFilter(AllowedHosts allowed) {
        this.allowed = allowed;
    }

    @Override
    protected void doFilterInternal(
            HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (!allowed.allowsHost(request.getHeader(HttpHeaders.HOST))) {
            JsonRpcError.write(
                    response,
                    403,
                    JsonRpcError.INVALID_REQUEST,
                    "Host is not a name of this server",
                    null);
        } else if (!Collections.list(request.getHeaders(HttpHeaders.ORIGIN)).stream()
                .allMatch(allowed::allowsOrigin)) {
            JsonRpcError.write(
                    response, 403, JsonRpcError.INVALID_REQUEST, "Origin is not this server", null);
        } else {
            chain.doFilter(request, response);
        }
    }
}
