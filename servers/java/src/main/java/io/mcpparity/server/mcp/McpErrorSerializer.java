package io.mcpparity.server.mcp;

import io.modelcontextprotocol.spec.McpError;
import org.springframework.boot.jackson.JacksonComponent;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueSerializer;

/**
 * Writes the error that a transport answers with, such as for a missing session, as JSON-RPC.
 * Spring AI hands the exception itself to the web layer, which would show its stack trace to the
 * client.
 */
@JacksonComponent
class McpErrorSerializer extends ValueSerializer<McpError> {

    @Override
    public void serialize(McpError error, JsonGenerator generator, SerializationContext context) {
        generator.writeStartObject();
        generator.writeStringProperty("jsonrpc", "2.0");
        generator.writeNullProperty("id");
        generator.writePOJOProperty("error", error.getJsonRpcError());
        generator.writeEndObject();
    }
}
