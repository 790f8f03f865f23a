package io.mcpparity.server.mcp;

import io.mcpparity.server.tools.Tool;
import io.mcpparity.server.tools.ToolException;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.io.ClassPathResource;
import tools.jackson.databind.json.JsonMapper;

/**
 * A tool together with its definition from the contract, as the SDK wants to call it.
 *
 * @param definition what tools/list returns
 * @param tool what tools/call runs
 */
record ToolRegistration(McpSchema.Tool definition, Tool tool) {

    private static final Logger logger = LoggerFactory.getLogger(ToolRegistration.class);

    /** Reads the tool's definition. A missing or broken file stops the start. */
    static ToolRegistration of(Tool tool, JsonMapper jsonMapper) {
        try (InputStream file =
                new ClassPathResource("contract/tools/" + tool.name() + ".json").getInputStream()) {
            return new ToolRegistration(jsonMapper.readValue(file, McpSchema.Tool.class), tool);
        } catch (IOException e) {
            throw new IllegalStateException(
                    "the contract's definition of " + tool.name() + " cannot be read", e);
        }
    }

    /**
     * Runs the tool on arguments that the SDK has validated. The SDK adds the text block, and
     * checks the answer against the output schema.
     */
    CallToolResult call(CallToolRequest request) {
        Map<String, Object> arguments = request.arguments();
        try {
            return CallToolResult.builder()
                    .structuredContent(tool.call(arguments == null ? Map.of() : arguments))
                    .build();
        } catch (ToolException e) {
            return error(e.getMessage());
        } catch (RuntimeException e) {
            logger.error("{} failed", tool.name(), e);
            return error(tool.name() + " failed because of a fault in the server");
        }
    }

    private static CallToolResult error(String message) {
        return CallToolResult.builder().addTextContent(message).isError(true).build();
    }
}
