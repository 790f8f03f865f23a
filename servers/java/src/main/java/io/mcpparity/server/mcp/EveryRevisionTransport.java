package io.mcpparity.server.mcp;

import io.modelcontextprotocol.server.McpStatelessServerHandler;
import io.modelcontextprotocol.spec.McpStatelessServerTransport;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * Adds 2024-11-05 to the revisions that the SDK's stateless transport agrees on in {@code
 * initialize}. It answers such a client well, but left alone would propose a newer revision.
 *
 * @param delegate the transport that does the work
 */
record EveryRevisionTransport(McpStatelessServerTransport delegate)
        implements McpStatelessServerTransport {

    @Override
    public List<String> protocolVersions() {
        return ProtocolRevisions.ALL;
    }

    @Override
    public void setMcpHandler(McpStatelessServerHandler handler) {
        delegate.setMcpHandler(handler);
    }

    @Override
    public Mono<Void> closeGracefully() {
        return delegate.closeGracefully();
    }
}
