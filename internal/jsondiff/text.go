package jsondiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

const (
	maxText = 120 // longest text shown in full, in bytes
	context = 30  // bytes shown before and after a difference within a longer text
)

// Texts returns both values as compact JSON; long ones are shortened to the surroundings of the first place where the
// texts differ.
func (d Difference) Texts() (want, got string) {
	return Around(Text(d.Want), Text(d.Got))
}

// Text returns the value as compact JSON with sorted keys, or "absent".
func Text(value any) string {
	if _, ok := value.(Absent); ok {
		return "absent"
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprintf("(%v)", err) // a value that did not come from Parse
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// Around shortens two long texts to the surroundings of the first place where they differ.
func Around(a, b string) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return window(a, at), window(b, at)
}

// Shorten keeps the beginning of a long text.
func Shorten(text string) string { return window(text, 0) }

func window(text string, at int) string {
	if len(text) <= maxText {
		return text
	}
	start, end := max(0, at-context), min(len(text), at+context)
	if start == 0 {
		end = maxText - 2*context
		end = max(end, min(len(text), at+context))
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	short := text[start:end]
	if start > 0 {
		short = "…" + short
	}
	if end < len(text) {
		short += "…"
	}
	return fmt.Sprintf("%s (%d bytes)", short, len(text))
}
