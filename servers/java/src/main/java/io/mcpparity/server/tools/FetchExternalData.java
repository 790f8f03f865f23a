package io.mcpparity.server.tools;

import io.mcpparity.server.Settings;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.http.io.SocketConfig;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** One GET to the upstream service. */
@Component
public class FetchExternalData implements Tool, Closeable {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_BODY_BYTES = 1_048_576;

    /** After a burst of calls, how long its connections are kept. */
    private static final TimeValue MAX_IDLE = TimeValue.ofMinutes(1);

    private final String upstreamUrl;
    private final ExchangeLimits limits;
    private final CloseableHttpClient http;
    private final RestClient client;
    private final JsonMapper jsonMapper;

    /** Makes the one client of the process; its connections are pooled and kept alive. */
    FetchExternalData(Settings settings, RestClient.Builder builder, JsonMapper jsonMapper) {
        this.upstreamUrl = settings.upstreamUrl().toString();
        this.limits = new ExchangeLimits(TIMEOUT, MAX_BODY_BYTES);
        this.http = httpClient(limits);
        this.client =
                builder.requestFactory(new HttpComponentsClientHttpRequestFactory(http)).build();
        this.jsonMapper = jsonMapper;
    }

    /** A client that sends each request once, as it is, and hands on each answer as it is. */
    private static CloseableHttpClient httpClient(ExchangeLimits limits) {
        RequestConfig config = RequestConfig.custom().setAuthenticationEnabled(false).build();
        // As many connections as calls: the server bounds those. The default is 5 to one host. No
        // time limit on a single read, which costs a timer each: the limits cover it.
        PoolingHttpClientConnectionManager pool =
                PoolingHttpClientConnectionManagerBuilder.create()
                        .setMaxConnTotal(Integer.MAX_VALUE)
                        .setMaxConnPerRoute(Integer.MAX_VALUE)
                        .setDefaultSocketConfig(
                                SocketConfig.custom().setSoTimeout(Timeout.DISABLED).build())
                        .build();
        return HttpClients.custom()
                .setConnectionManager(pool)
                .evictIdleConnections(MAX_IDLE)
                .setDefaultRequestConfig(config)
                .addExecInterceptorFirst("limits", limits)
                .disableAutomaticRetries()
                .disableAuthCaching()
                .disableContentCompression()
                .disableCookieManagement()
                .disableRedirectHandling()
                .build();
    }

    @Override
    public String name() {
        return "fetch_external_data";
    }

    @Override
    public Map<String, Object> call(Map<String, Object> arguments) throws ToolException {
        String endpoint = (String) arguments.get("endpoint");
        Answer answer;
        try {
            answer =
                    client.get()
                            .uri(URI.create(upstreamUrl + endpoint))
                            .exchange(
                                    (request, response) ->
                                            new Answer(
                                                    response.getStatusCode().value(),
                                                    response.getBody().readAllBytes()));
        } catch (ResourceAccessException e) {
            throw failure(e);
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("endpoint", endpoint);
        result.put("status", answer.status);
        result.put("body", parse(answer.body));
        return result;
    }

    private static ToolException failure(ResourceAccessException e) {
        if (e.getCause() instanceof ExchangeLimits.BodyTooLargeException) {
            return new ToolException(
                    "upstream answered with more than " + MAX_BODY_BYTES + " bytes", e);
        }
        return new ToolException(
                "upstream could not be reached or did not answer within "
                        + TIMEOUT.toSeconds()
                        + " s",
                e);
    }

    private Object parse(byte[] body) throws ToolException {
        try {
            return jsonMapper.readValue(body, Object.class);
        } catch (JacksonException e) {
            throw new ToolException("upstream answered with a body that is not JSON", e);
        }
    }

    @Override
    public void close() throws IOException {
        http.close();
        limits.close();
    }

    private record Answer(int status, byte[] body) {}
}
