package io.mcpparity.server.tools;

import java.util.Map;

/** One tool of the contract: what it computes, free of the protocol that carries it. */
public interface Tool {

    /**
     * The name under which clients call the tool; its definition is {@code
     * contract/tools/<name>.json}.
     */
    String name();

    /**
     * Runs the tool.
     *
     * @param arguments the arguments, which satisfy the tool's input schema. Values are what
     *     Jackson reads: {@code Integer}, {@code Long}, {@code BigInteger}, {@code Double}, {@code
     *     String}, {@code Boolean}, {@code List}, {@code Map} or {@code null}
     * @return the structured content of the answer
     * @throws ToolException if the call fails
     */
    Map<String, Object> call(Map<String, Object> arguments) throws ToolException;
}
