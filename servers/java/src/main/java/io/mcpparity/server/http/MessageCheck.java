package io.mcpparity.server.http;

import io.modelcontextprotocol.spec.McpSchema;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * Check 8: is this one JSON-RPC message, with parameters of the shape that its method needs? One
 * pass, no tree.
 */
class MessageCheck {

    private static final double MAX_EXACT = 9007199254740991d;

    private final JsonMapper jsonMapper;

    MessageCheck(JsonMapper jsonMapper) {
        this.jsonMapper = jsonMapper;
    }

    /**
     * Checks a body.
     *
     * @param body what the client sent
     * @throws RefusedException with the answer, if it is not a message or not one that can be
     *     called
     */
    void check(byte[] body) throws RefusedException {
        Message message;
        try {
            // The decoder refuses bytes that are not UTF-8; new String would replace them in
            // silence.
            String text =
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
            message = read(text);
        } catch (CharacterCodingException | JacksonException e) {
            throw malformed(JsonRpcError.PARSE_ERROR, "body is not JSON");
        }
        checkEnvelope(message);
        if (message.hasId) {
            checkParams(message);
        }
    }

    private Message read(String text) throws RefusedException {
        try (JsonParser parser = jsonMapper.createParser(text)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw malformed(JsonRpcError.PARSE_ERROR, "body is empty");
            }
            if (first != JsonToken.START_OBJECT) {
                throw malformed(
                        JsonRpcError.INVALID_REQUEST,
                        "body must be one JSON-RPC message, an object");
            }
            Message message = new Message();
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                switch (name) {
                    case "jsonrpc" -> message.version = string(parser, value);
                    case "method" -> message.method = string(parser, value);
                    case "id" -> {
                        message.hasId = true;
                        message.id = id(parser, value);
                    }
                    case "params" -> message.params = params(parser, value);
                    default -> parser.skipChildren();
                }
            }
            if (parser.nextToken() != null) {
                throw malformed(JsonRpcError.PARSE_ERROR, "body goes on after the message");
            }
            return message;
        }
    }

    private static Params params(JsonParser parser, JsonToken start) {
        Params params = new Params();
        params.token = start;
        if (start != JsonToken.START_OBJECT) {
            parser.skipChildren();
            return params;
        }
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = parser.currentName();
            JsonToken value = parser.nextToken();
            switch (name) {
                case "name" -> params.name = value;
                case "arguments" -> params.arguments = value;
                case "cursor" -> params.cursor = value;
                case "protocolVersion" -> params.protocolVersion = value;
                default -> {
                    // Any other parameter is the SDK's to judge.
                }
            }
            parser.skipChildren();
        }
        return params;
    }

    private static void checkEnvelope(Message message) throws RefusedException {
        if (!"2.0".equals(message.version)) {
            throw malformed(JsonRpcError.INVALID_REQUEST, "jsonrpc must be \"2.0\"");
        }
        if (message.hasId && message.id == null) {
            throw malformed(
                    JsonRpcError.INVALID_REQUEST,
                    "id must be a string or an integer of at most 64 bits");
        }
        // A response has no method either: this server asks its clients nothing, so it waits for
        // none.
        if (message.method == null) {
            throw malformed(JsonRpcError.INVALID_REQUEST, "method must be a string");
        }
    }

    private static void checkParams(Message message) throws RefusedException {
        Params params = message.params;
        if (params.token != null && params.token != JsonToken.START_OBJECT) {
            throw invalidParams(message, "params must be an object");
        }
        if (McpSchema.METHOD_INITIALIZE.equals(message.method)
                && params.protocolVersion != JsonToken.VALUE_STRING) {
            throw invalidParams(
                    message, "params.protocolVersion must be a revision of the protocol");
        }
        if (McpSchema.METHOD_TOOLS_CALL.equals(message.method)) {
            if (params.name != JsonToken.VALUE_STRING) {
                throw invalidParams(message, "params.name must be the name of a tool");
            }
            if (params.arguments != null && params.arguments != JsonToken.START_OBJECT) {
                throw invalidParams(message, "params.arguments must be an object");
            }
        }
        // All tools are on one page, so no cursor was ever given out. The SDK ignores it.
        if (McpSchema.METHOD_TOOLS_LIST.equals(message.method) && params.cursor != null) {
            throw invalidParams(message, "params.cursor was not given by this server");
        }
    }

    private static String string(JsonParser parser, JsonToken value) {
        if (value == JsonToken.VALUE_STRING) {
            return parser.getString();
        }
        parser.skipChildren();
        return null;
    }

    /** The id as it is to be returned, or {@code null} if it is none. */
    private static Object id(JsonParser parser, JsonToken value) {
        if (value == JsonToken.VALUE_STRING) {
            String id = parser.getString();
            // What cannot be encoded has a lone surrogate, and would come back altered.
            return StandardCharsets.UTF_8.newEncoder().canEncode(id) ? id : null;
        }
        if (value == JsonToken.VALUE_NUMBER_INT) {
            Number id = parser.getNumberValue();
            return id instanceof BigInteger ? null : id;
        }
        if (value == JsonToken.VALUE_NUMBER_FLOAT) {
            double id = parser.getDoubleValue();
            return id == Math.rint(id) && Math.abs(id) <= MAX_EXACT ? id : null;
        }
        parser.skipChildren();
        return null;
    }

    private static RefusedException malformed(int code, String message) {
        return new RefusedException(400, code, message, null);
    }

    private static RefusedException invalidParams(Message message, String text) {
        return new RefusedException(200, JsonRpcError.INVALID_PARAMS, text, message.id);
    }

    /** What the pass has seen; of a member that is there twice, the last. */
    private static final class Message {
        private String version;
        private String method;
        private boolean hasId;
        private Object id;
        private Params params = new Params();
    }

    /** The first token of each value; {@code null} where there is none. */
    private static final class Params {
        private JsonToken token;
        private JsonToken name;
        private JsonToken arguments;
        private JsonToken cursor;
        private JsonToken protocolVersion;
    }

    /** The message is refused; carries the answer. */
    static final class RefusedException extends Exception {
        private final int status;
        private final int code;
        private final transient Object id;

        RefusedException(int status, int code, String message, Object id) {
            // No stack trace: this is an answer, not a fault.
            super(message, null, false, false);
            this.status = status;
            this.code = code;
            this.id = id;
        }

        int status() {
            return status;
        }

        int code() {
            return code;
        }

        Object id() {
            return id;
        }
    }
}
