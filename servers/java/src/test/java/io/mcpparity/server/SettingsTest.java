package io.mcpparity.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {

    @Test
    void defaults() throws Settings.WrongValueException {
        assertThat(Settings.from(Map.of()))
                .isEqualTo(
                        new Settings(
                                "127.0.0.1",
                                8080,
                                URI.create("http://127.0.0.1:8090"),
                                Settings.Sessions.STATELESS,
                                Settings.Transport.HTTP,
                                Settings.LogLevel.INFO));
    }

    @Test
    void everyVariable() throws Settings.WrongValueException {
        Map<String, String> environment =
                Map.of(
                        "HOST", "::1",
                        "PORT", "1",
                        "UPSTREAM_URL", "https://upstream.example/base",
                        "MCP_SESSIONS", "stateful",
                        "MCP_TRANSPORT", "sse",
                        "WORKERS", "4",
                        "LOG_LEVEL", "debug");
        assertThat(Settings.from(environment))
                .isEqualTo(
                        new Settings(
                                "::1",
                                1,
                                URI.create("https://upstream.example/base"),
                                Settings.Sessions.STATEFUL,
                                Settings.Transport.SSE,
                                Settings.LogLevel.DEBUG));
    }

    @ParameterizedTest
    @CsvSource({
        "HOST, ''",
        "HOST, no such host",
        "PORT, ''",
        "PORT, 0",
        "PORT, 65536",
        "PORT, +80",
        "PORT, 99999999999999999999",
        "UPSTREAM_URL, 127.0.0.1:8090",
        "UPSTREAM_URL, http://127.0.0.1:8090/",
        "UPSTREAM_URL, ftp://127.0.0.1",
        "UPSTREAM_URL, http://127.0.0.1/?a=b",
        "MCP_SESSIONS, Stateful",
        "MCP_TRANSPORT, websocket",
        "WORKERS, 0",
        "WORKERS, many",
        "LOG_LEVEL, INFO",
    })
    void wrongValueIsNamed(String variable, String value) {
        assertThatExceptionOfType(Settings.WrongValueException.class)
                .isThrownBy(() -> Settings.from(Map.of(variable, value)))
                .withMessageContaining(variable)
                .withMessageContaining("\"" + value + "\"")
                .withMessageContaining("must be");
    }
}
