package io.mcpparity.server.tools;

import io.mcpparity.server.Settings;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** One GET to the upstream service. */
@Component
public class FetchExternalData implements Tool {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_BODY_BYTES = 1_048_576;

    private final String upstreamUrl;
    private final RestClient client;
    private final JsonMapper jsonMapper;

    /** Makes the one client of the process; its connections are pooled and kept alive. */
    FetchExternalData(Settings settings, RestClient.Builder builder, JsonMapper jsonMapper) {
        // HTTP/1.1, because the default sends an upgrade to HTTP/2 with each first request of a
        // connection.
        HttpClient http =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .connectTimeout(TIMEOUT)
                        .build();
        JdkClientHttpRequestFactory factory = new JdkClientHttpRequestFactory(http);
        // The factory counts it from the request to the end of the body.
        factory.setReadTimeout(TIMEOUT);
        this.upstreamUrl = settings.upstreamUrl().toString();
        this.client = builder.requestFactory(factory).build();
        this.jsonMapper = jsonMapper;
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
                                                    readBody(response.getBody())));
        } catch (ResourceAccessException e) {
            throw new ToolException(
                    "upstream could not be reached or did not answer within "
                            + TIMEOUT.toSeconds()
                            + " s",
                    e);
        }
        if (answer.body.length > MAX_BODY_BYTES) {
            throw new ToolException(
                    "upstream answered with more than " + MAX_BODY_BYTES + " bytes");
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("endpoint", endpoint);
        result.put("status", answer.status);
        result.put("body", parse(answer.body));
        return result;
    }

    private Object parse(byte[] body) throws ToolException {
        try {
            return jsonMapper.readValue(body, Object.class);
        } catch (JacksonException e) {
            throw new ToolException("upstream answered with a body that is not JSON", e);
        }
    }

    /** Reads one byte more than is allowed, which tells a body that is too large. */
    private static byte[] readBody(InputStream body) throws IOException {
        return body.readNBytes(MAX_BODY_BYTES + 1);
    }

    private record Answer(int status, byte[] body) {}
}
