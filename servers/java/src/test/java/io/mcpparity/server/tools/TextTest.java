package io.mcpparity.server.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextTest {

    @ParameterizedTest
    @ValueSource(strings = {"\ud800", "a\udc00", "\ud83d\ud83d\ude00", "\ude00\ud83d", "\ud83dx"})
    void refusesLoneSurrogates(String value) {
        assertThatExceptionOfType(ToolException.class)
                .isThrownBy(() -> Text.requireWellFormed("query", value))
                .withMessageContaining("query");
    }

    @Test
    void takesPairs() {
        assertThatNoException()
                .isThrownBy(() -> Text.requireWellFormed("query", "a\ud83d\ude00b\u0000"));
    }

    @Test
    void sortsByCodePoint() {
        List<String> sorted =
                Stream.of("\ud83d\ude00", "\uff5e", "\ud83d\ude01", "a", "", "ab", "\uff5ea")
                        .sorted(Text.BY_CODE_POINT)
                        .toList();
        assertThat(sorted)
                .containsExactly(
                        "", "a", "ab", "\uff5e", "\uff5ea", "\ud83d\ude00", "\ud83d\ude01");
    }

    @Test
    void upperCasesAsciiOnly() {
        assertThat(Text.upperCaseAscii("`az{ ßıéſ ǆ")).isEqualTo("`AZ{ ßıéſ ǆ");
    }
}
