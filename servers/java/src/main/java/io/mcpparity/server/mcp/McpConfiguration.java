package io.mcpparity.server.mcp;

import io.mcpparity.server.tools.Tool;
import io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper;
import io.modelcontextprotocol.server.McpServerFeatures;
import io.modelcontextprotocol.server.McpStatelessServerFeatures;
import io.modelcontextprotocol.spec.McpStatelessServerTransport;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStatelessServerTransport;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * What Spring AI's auto-configuration needs from this server: tools, JSON and transports as the
 * contract wants them.
 */
@Configuration(proxyBeanMethods = false)
class McpConfiguration {

    /** As long as a message can be: a key is text like any other. */
    private static final int MAX_NAME = 4_194_304;

    /**
     * Replaces the mapper of Spring AI, which drops members that are null from maps and so from
     * answers: absent and null differ.
     */
    @Bean(defaultCandidate = false)
    JsonMapper mcpServerJsonMapper() {
        StreamReadConstraints limits =
                StreamReadConstraints.builder().maxNameLength(MAX_NAME).build();
        return JsonMapper.builder(JsonFactory.builder().streamReadConstraints(limits).build())
                .build();
    }

    @Bean
    List<ToolRegistration> toolRegistrations(
            List<Tool> tools, @Qualifier("mcpServerJsonMapper") JsonMapper jsonMapper) {
        return tools.stream()
                .sorted(Comparator.comparing(Tool::name))
                .map(tool -> ToolRegistration.of(tool, jsonMapper))
                .toList();
    }

    /** For every transport that has sessions: Streamable HTTP with them, HTTP+SSE and stdio. */
    @Bean
    List<McpServerFeatures.SyncToolSpecification> sessionTools(
            List<ToolRegistration> registrations) {
        return registrations.stream()
                .map(
                        tool ->
                                McpServerFeatures.SyncToolSpecification.builder()
                                        .tool(tool.definition())
                                        .callHandler((exchange, request) -> tool.call(request))
                                        .build())
                .toList();
    }

    @Bean
    List<McpStatelessServerFeatures.SyncToolSpecification> statelessTools(
            List<ToolRegistration> registrations) {
        return registrations.stream()
                .map(
                        tool ->
                                McpStatelessServerFeatures.SyncToolSpecification.builder()
                                        .tool(tool.definition())
                                        .callHandler((context, request) -> tool.call(request))
                                        .build())
                .toList();
    }

    /** Streamable HTTP without sessions. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(name = "spring.ai.mcp.server.protocol", havingValue = "STATELESS")
    static class StatelessHttp {

        @Bean
        @Primary
        McpStatelessServerTransport everyRevision(WebMvcStatelessServerTransport transport) {
            return new EveryRevisionTransport(transport);
        }
    }

    /** Streamable HTTP with sessions. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(name = "spring.ai.mcp.server.protocol", havingValue = "STREAMABLE")
    @ConditionalOnProperty(name = "spring.ai.mcp.server.stdio", havingValue = "false")
    static class StatefulHttp {

        /** How long a session may be unused before it ends by itself. */
        private static final Duration SESSION_IDLE_TIMEOUT = Duration.ofMinutes(5);

        /**
         * Replaces the one of Spring AI, whose properties do not reach the idle timeout: its
         * sessions never end.
         */
        @Bean
        WebMvcStreamableServerTransportProvider webMvcStreamableServerTransportProvider(
                @Qualifier("mcpServerJsonMapper") JsonMapper jsonMapper) {
            return WebMvcStreamableServerTransportProvider.builder()
                    .jsonMapper(new JacksonMcpJsonMapper(jsonMapper))
                    .sessionIdleTimeout(SESSION_IDLE_TIMEOUT)
                    .build();
        }
    }
}
