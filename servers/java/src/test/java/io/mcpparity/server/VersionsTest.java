package io.mcpparity.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** What is said of this server's SDK is true of the one that it runs on. */
class VersionsTest {

    private static final String SDK = "io.modelcontextprotocol.sdk:mcp-core";

    /** The version of the SDK on the class path, from the name of its jar: mcp-core-1.2.3.jar. */
    private static String runningSdk() {
        String jar =
                Path.of(
                                McpSchema.class
                                        .getProtectionDomain()
                                        .getCodeSource()
                                        .getLocation()
                                        .getPath())
                        .getFileName()
                        .toString();
        return jar.replaceAll("^mcp-core-(.*)\\.jar$", "$1");
    }

    @Test
    void subject() throws IOException {
        Map<?, ?> subject = new Yaml().load(Files.readString(Path.of("subject.yaml")));
        assertThat(subject.get("sdk")).isEqualTo(Map.of("name", SDK, "version", runningSdk()));
    }

    @Test
    void imageLabels() throws IOException {
        assertThat(Files.readString(Path.of("Dockerfile")))
                .contains("io.mcp-parity.sdk=\"" + SDK + "\"")
                .contains("io.mcp-parity.sdk-version=\"" + runningSdk() + "\"");
    }
}
