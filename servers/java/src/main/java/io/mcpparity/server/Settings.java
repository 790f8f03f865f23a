package io.mcpparity.server;

import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the environment says: the variables of the contract, checked.
 *
 * @param host address to listen on
 * @param port TCP port to listen on
 * @param upstreamUrl base URL of the upstream service, without a final slash
 * @param sessions whether Streamable HTTP keeps sessions
 * @param transport how clients reach the server
 * @param logLevel lowest level that is logged
 */
public record Settings(
        String host,
        int port,
        URI upstreamUrl,
        Sessions sessions,
        Transport transport,
        LogLevel logLevel) {

    /** Values of {@code MCP_SESSIONS}. */
    public enum Sessions {
        STATELESS,
        STATEFUL
    }

    /** Values of {@code MCP_TRANSPORT}. */
    public enum Transport {
        HTTP,
        SSE,
        STDIO
    }

    /** Values of {@code LOG_LEVEL}. */
    public enum LogLevel {
        DEBUG,
        INFO,
        WARN,
        ERROR
    }

    /**
     * An environment variable has a value that is not allowed. The message says which, and what is.
     */
    public static class WrongValueException extends Exception {
        WrongValueException(String variable, String value, String allowed) {
            super("%s=\"%s\" is not allowed: it must be %s".formatted(variable, value, allowed));
        }
    }

    /**
     * Reads the settings.
     *
     * @param environment variables by name; an absent one takes its default
     * @return the settings
     * @throws WrongValueException on the first variable with a wrong value
     */
    public static Settings from(Map<String, String> environment) throws WrongValueException {
        // The JVM uses every CPU it is given from one process, so the number is only checked.
        integer(environment, "WORKERS", "1", Integer.MAX_VALUE);
        return new Settings(
                address(environment, "HOST", "127.0.0.1"),
                integer(environment, "PORT", "8080", 65535),
                baseUrl(environment, "UPSTREAM_URL", "http://127.0.0.1:8090"),
                oneOf(environment, "MCP_SESSIONS", Sessions.STATELESS),
                oneOf(environment, "MCP_TRANSPORT", Transport.HTTP),
                oneOf(environment, "LOG_LEVEL", LogLevel.INFO));
    }

    /** The Spring properties that follow from these settings. */
    Map<String, Object> springProperties() {
        Map<String, Object> properties = new HashMap<>();
        properties.put("server.address", host);
        properties.put("server.port", port);
        properties.put("spring.ai.mcp.server.stdio", transport == Transport.STDIO);
        properties.put("spring.ai.mcp.server.protocol", protocol());
        properties.put("logging.level.root", logLevel.name());
        if (logLevel != LogLevel.DEBUG) {
            // Both log single requests, as info (initialize), warning (a refused argument) and
            // error (a refused message).
            properties.put("logging.level.io.modelcontextprotocol", "OFF");
            properties.put(
                    "logging.level.org.springframework.ai.mcp.server.webmvc.transport", "OFF");
        }
        return properties;
    }

    private String protocol() {
        if (transport == Transport.SSE) {
            return "SSE";
        }
        // Stdio is one session by nature, and Spring AI serves it from the beans of the stateful
        // protocol.
        boolean stateless = transport == Transport.HTTP && sessions == Sessions.STATELESS;
        return stateless ? "STATELESS" : "STREAMABLE";
    }

    private static String address(Map<String, String> environment, String variable, String fallback)
            throws WrongValueException {
        String value = environment.getOrDefault(variable, fallback);
        try {
            if (!value.isBlank()) {
                InetAddress.getByName(value);
                return value;
            }
        } catch (UnknownHostException e) {
            // Falls through to the same message.
        }
        throw new WrongValueException(
                variable, value, "an address of this machine, such as 127.0.0.1 or 0.0.0.0");
    }

    private static int integer(
            Map<String, String> environment, String variable, String fallback, int max)
            throws WrongValueException {
        String value = environment.getOrDefault(variable, fallback);
        // Digits only: parseInt would also take a sign and the digits of other scripts.
        if (value.matches("[0-9]{1,10}")) {
            long number = Long.parseLong(value);
            if (number >= 1 && number <= max) {
                return (int) number;
            }
        }
        throw new WrongValueException(variable, value, "an integer from 1 to " + max);
    }

    private static URI baseUrl(Map<String, String> environment, String variable, String fallback)
            throws WrongValueException {
        String value = environment.getOrDefault(variable, fallback);
        try {
            URI uri = new URI(value);
            boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            if (http
                    && uri.getHost() != null
                    && uri.getQuery() == null
                    && uri.getFragment() == null
                    && !value.endsWith("/")) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Falls through to the same message.
        }
        throw new WrongValueException(
                variable,
                value,
                "an http or https URL without a final slash, such as http://127.0.0.1:8090");
    }

    private static <E extends Enum<E>> E oneOf(
            Map<String, String> environment, String variable, E fallback)
            throws WrongValueException {
        String value = environment.getOrDefault(variable, name(fallback));
        E[] constants = fallback.getDeclaringClass().getEnumConstants();
        for (E constant : constants) {
            if (name(constant).equals(value)) {
                return constant;
            }
        }
        String allowed =
                Arrays.stream(constants).map(Settings::name).collect(Collectors.joining(", "));
        throw new WrongValueException(variable, value, "one of " + allowed);
    }

    private static String name(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
