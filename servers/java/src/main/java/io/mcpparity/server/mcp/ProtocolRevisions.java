package io.mcpparity.server.mcp;

import io.modelcontextprotocol.spec.ProtocolVersions;
import java.util.List;

/** The revisions of the protocol that this server speaks. */
public final class ProtocolRevisions {

    /**
     * All of them, oldest first: the SDK proposes the last one to a client that asks for another.
     */
    public static final List<String> ALL =
            List.of(
                    ProtocolVersions.MCP_2024_11_05,
                    ProtocolVersions.MCP_2025_03_26,
                    ProtocolVersions.MCP_2025_06_18,
                    ProtocolVersions.MCP_2025_11_25);

    private ProtocolRevisions() {}
}
