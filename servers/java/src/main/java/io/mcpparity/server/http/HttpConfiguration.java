package io.mcpparity.server.http;

import io.mcpparity.server.Settings;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import tools.jackson.databind.json.JsonMapper;

/**
 * The filters in front of the SDK's endpoints, which are the checks of the contract in its order,
 * and the one endpoint that does without Spring MVC.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication
class HttpConfiguration {

    private static final String STREAMABLE = "/mcp";
    private static final String SSE_STREAM = "/sse";
    private static final String SSE_MESSAGE = "/mcp/message";

    @Bean
    FilterRegistrationBean<OriginFilter> originFilter(Settings settings) {
        var filter = new OriginFilter(AllowedHosts.of(settings.host()));
        var registration = new FilterRegistrationBean<>(filter);
        registration.addUrlPatterns(STREAMABLE, SSE_STREAM, SSE_MESSAGE);
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE + 1);
        return registration;
    }

    @Bean
    FilterRegistrationBean<NegotiationFilter> negotiationFilter(Settings settings) {
        var registration = new FilterRegistrationBean<>(new NegotiationFilter(settings.sessions()));
        registration.addUrlPatterns(STREAMABLE);
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE + 2);
        return registration;
    }

    @Bean
    FilterRegistrationBean<MessageFilter> messageFilter(
            Settings settings, @Qualifier("mcpServerJsonMapper") JsonMapper jsonMapper) {
        var registration =
                new FilterRegistrationBean<>(new MessageFilter(jsonMapper, settings.transport()));
        registration.addUrlPatterns(STREAMABLE, SSE_MESSAGE);
        registration.setOrder(Ordered.HIGHEST_PRECEDENCE + 3);
        return registration;
    }

    @Bean
    SessionDrain sessionDrain(ObjectProvider<McpServerTransportProviderBase> transport) {
        return new SessionDrain(transport);
    }

    @Bean
    ServletRegistrationBean<FloorServlet> floorServlet(JsonMapper jsonMapper) {
        return new ServletRegistrationBean<>(new FloorServlet(jsonMapper), "/floor");
    }
}
