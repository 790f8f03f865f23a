package io.mcpparity.server.tools;

import java.util.Comparator;

/** What the contract says about strings that {@link String} does not do by itself. */
final class Text {

    /**
     * Orders by Unicode code point; {@link String#compareTo} orders by UTF-16 code unit. Both
     * strings must be well formed.
     */
    static final Comparator<String> BY_CODE_POINT = Text::compareCodePoints;

    private Text() {}

    /**
     * Refuses a string with a lone surrogate, which is not text and could only be sent on altered.
     *
     * @throws ToolException naming the argument
     */
    static void requireWellFormed(String argument, String value) throws ToolException {
        for (int i = 0; i < value.length(); i++) {
            char unit = value.charAt(i);
            if (!Character.isSurrogate(unit)) {
                continue;
            }
            boolean pair =
                    Character.isHighSurrogate(unit)
                            && i + 1 < value.length()
                            && Character.isLowSurrogate(value.charAt(i + 1));
            if (!pair) {
                throw new ToolException(
                        argument
                                + " contains a lone surrogate (U+%04X), which is not text"
                                        .formatted((int) unit));
            }
            i++;
        }
    }

    /**
     * Replaces each ASCII letter a to z by A to Z and leaves all else; {@link String#toUpperCase()}
     * knows no such limit.
     */
    static String upperCaseAscii(String value) {
        char[] units = null;
        for (int i = 0; i < value.length(); i++) {
            char unit = value.charAt(i);
            if (unit >= 'a' && unit <= 'z') {
                if (units == null) {
                    units = value.toCharArray();
                }
                units[i] = (char) (unit - 'a' + 'A');
            }
        }
        return units == null ? value : new String(units);
    }

    private static int compareCodePoints(String a, String b) {
        int shorter = Math.min(a.length(), b.length());
        for (int i = 0; i < shorter; i++) {
            char x = a.charAt(i);
            char y = b.charAt(i);
            if (x != y) {
                // A surrogate belongs to a code point above U+FFFF, and so above every other code
                // unit.
                boolean xAbove = Character.isSurrogate(x);
                boolean yAbove = Character.isSurrogate(y);
                return xAbove == yAbove ? x - y : xAbove ? 1 : -1;
            }
        }
        return a.length() - b.length();
    }
}
