package io.mcpparity.server.tools;

/**
 * A call that failed. The message is for the caller and names the argument, or the upstream, that
 * is to blame.
 */
public class ToolException extends Exception {

    ToolException(String message) {
        super(message);
    }

    ToolException(String message, Throwable cause) {
        super(message, cause);
    }
}
