package io.mcpparity.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllowedHostsTest {

    private final AllowedHosts loopback = AllowedHosts.of("127.0.0.1");

    @ParameterizedTest
    @ValueSource(strings = {"localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]", "[::1]:8080"})
    void allowsLoopback(String host) {
        assertThat(loopback.allowsHost(host)).isTrue();
        assertThat(loopback.allowsOrigin("http://" + host)).isTrue();
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(
            strings = {
                "",
                "evil.example",
                "localhost.evil.example",
                "127.0.0.1.evil.example:80",
                "::1",
                "[::1].x"
            })
    void refusesForeignHosts(String host) {
        assertThat(loopback.allowsHost(host)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "",
                "localhost",
                "http://evil.example",
                "http://localhost@evil.example",
                "http://a b"
            })
    void refusesForeignOrigins(String origin) {
        assertThat(loopback.allowsOrigin(origin)).isFalse();
    }

    @Test
    void allowsTheAddressListenedOn() {
        assertThat(AllowedHosts.of("127.0.0.2").allowsHost("127.0.0.2:80")).isTrue();
        assertThat(AllowedHosts.of("0:0:0:0:0:0:0:2").allowsHost("[0:0:0:0:0:0:0:2]:80")).isTrue();
    }

    @Test
    void allAddressesAreNoName() {
        assertThat(AllowedHosts.of("0.0.0.0").allowsHost("0.0.0.0:80")).isFalse();
        assertThat(AllowedHosts.of("::").allowsHost("[::]:80")).isFalse();
    }
}
