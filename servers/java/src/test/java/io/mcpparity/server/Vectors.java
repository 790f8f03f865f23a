package io.mcpparity.server;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.yaml.snakeyaml.Yaml;

/** The vectors of the contract that are one tool call to a server without sessions. */
final class Vectors {

    private static final Path FOLDER = Path.of("../../contract/vectors");
    private static final Pattern REPEAT =
            Pattern.compile("\\{\\{repeat \"((?:[^\"\\\\]|\\\\.)*)\" (\\d+)}}");

    /**
     * One tool call and its answer.
     *
     * @param name group and name
     * @param tool the tool that is called
     * @param arguments JSON text, {@code null} to leave the member out
     * @param expect what is right, as in the file, with templates not yet expanded
     */
    record Call(String name, String tool, String arguments, Map<?, ?> expect) {}

    private Vectors() {}

    static List<Call> calls() throws IOException {
        List<Call> calls = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(FOLDER, "*.yaml")) {
            for (Path file : files) {
                Map<?, ?> group = new Yaml().load(Files.readString(file));
                for (Object entry : (List<?>) group.get("vectors")) {
                    Map<?, ?> vector = (Map<?, ?>) entry;
                    boolean forSessions = "stateful".equals(vector.get("sessions"));
                    if (!forSessions && vector.get("call") instanceof Map<?, ?> call) {
                        calls.add(
                                new Call(
                                        group.get("group") + "/" + vector.get("name"),
                                        (String) call.get("tool"),
                                        expand((String) call.get("arguments")),
                                        (Map<?, ?>) vector.get("expect")));
                    }
                }
            }
        }
        return calls;
    }

    /**
     * Expands {@code {{repeat "text" count}}}, the one template function that is understood here.
     */
    static String expand(String text) {
        return text == null ? null : REPEAT.matcher(text).replaceAll(Vectors::repeat);
    }

    private static String repeat(MatchResult match) {
        String unescaped = match.group(1).replace("\\\"", "\"").replace("\\\\", "\\");
        return Matcher.quoteReplacement(unescaped.repeat(Integer.parseInt(match.group(2))));
    }
}
