package jsondiff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	value, err := jsondiff.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestParseRefusesWhatItWouldAlter(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `[1,]`, `{"a":1} x`, `01`, `NaN`, `{'a':1}`,
		"\"\xff\"", `"\ud800"`, `"\udc00\ud800"`, `{"\udfff":1}`, `{"a":1,"a":1}`,
	} {
		if value, err := jsondiff.Parse([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, value)
		}
	}
}

func TestParseKeepsValues(t *testing.T) {
	got := parse(t, ` {"a":[1.0,-0,1e400,9007199254740993,true,false,null,{}],"😀\u0000\ud83d\ude00":"ß"} `)
	want := map[string]any{
		"a":      []any{json.Number("1.0"), json.Number("-0"), json.Number("1e400"), json.Number("9007199254740993"), true, false, nil, map[string]any{}},
		"😀\x00😀": "ß",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseOfRepeatedKeys(t *testing.T) {
	got, err := jsondiff.Parse([]byte(`{"a":1,"a":2}`), jsontext.AllowDuplicateNames(true))
	if d := cmp.Diff(map[string]any{"a": json.Number("2")}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{"10", "10.0", true},
		{"10", "1e1", true},
		{"10", "100E-1", true},
		{"10", "1.00e+1", true},
		{"0", "-0", true},
		{"0", "-0.0e5", true},
		{"0.1", "1e-1", true},
		{"0.1", "0.1000000000000000055511151231257827", true}, // the same double
		{"0.1", "0.10000000000000002", false},
		{"10", "10.5", false},
		{"10", "-10", false},
		{"9007199254740992", "9007199254740993", false}, // the same double
		{"9007199254740993", "9007199254740993.0", true},
		{"9007199254740992", "9007199254740993.0", false},
		{"1e400", "1e400", true},
		{"1e400", "10e399", true},
		{"1e400", "1e401", false},
		{"1e400", "-1e400", false},
		{"1e99999999999999999999", "1e99999999999999999998", false},
		{"1e-400", "0", true}, // the same double
		{"1.5", "15e-1", true},
	} {
		if got := jsondiff.Equal(parse(t, c.a), parse(t, c.b)); got != c.equal {
			t.Errorf("%s and %s: got %v", c.a, c.b, got)
		}
		if got := jsondiff.Equal(parse(t, c.b), parse(t, c.a)); got != c.equal {
			t.Errorf("%s and %s: got %v", c.b, c.a, got)
		}
	}
}

// show writes differences in a form that fits on a line.
func show(differences []jsondiff.Difference) []string {
	var out []string
	for _, d := range differences {
		want, got := d.Texts()
		out = append(out, d.Pointer+": "+want+" | "+got)
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		want, got         string
		compare, contains []string
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, nil, nil},
		{`1`, `"1"`, []string{`: 1 | "1"`}, []string{`: 1 | "1"`}},
		{`true`, `1`, []string{`: true | 1`}, []string{`: true | 1`}},
		{`[]`, `null`, []string{`: [] | null`}, []string{`: [] | null`}},
		{`{}`, `[]`, []string{`: {} | []`}, []string{`: {} | []`}},
		{`null`, `{}`, []string{`: null | {}`}, []string{`: null | {}`}},
		{`{"a":null}`, `{}`, []string{`/a: null | absent`}, []string{`/a: null | absent`}},
		{`{}`, `{"a":null}`, []string{`/a: absent | null`}, nil},
		{`[{}]`, `[{"a":1}]`, []string{`/0/a: absent | 1`}, nil},
		{`[1,2]`, `[2,1]`, []string{`/0: 1 | 2`, `/1: 2 | 1`}, []string{`/0: 1 | 2`, `/1: 2 | 1`}},
		{`[1]`, `[1,2,3]`, []string{`/1: absent | 2`, `/2: absent | 3`}, []string{`/1: absent | 2`, `/2: absent | 3`}},
		{`[1,2]`, `[1]`, []string{`/1: 2 | absent`}, []string{`/1: 2 | absent`}},
		{`{"a/b":{"c~d":"<"}}`, `{"a/b":{"c~d":">"}}`, []string{`/a~1b/c~0d: "<" | ">"`}, []string{`/a~1b/c~0d: "<" | ">"`}},
		{`{"z":1,"a":[{"x":1}]}`, `{"z":2,"a":[{"x":2}]}`, []string{`/a/0/x: 1 | 2`, `/z: 1 | 2`}, []string{`/a/0/x: 1 | 2`, `/z: 1 | 2`}},
		{`"e\u0301"`, `"\u00e9"`, []string{": \"e\u0301\" | \"\u00e9\""}, []string{": \"e\u0301\" | \"\u00e9\""}}, // composed or not
	} {
		want, got := parse(t, c.want), parse(t, c.got)
		if d := cmp.Diff(c.compare, show(jsondiff.Compare(want, got))); d != "" {
			t.Errorf("Compare %s with %s: %s", c.want, c.got, d)
		}
		if d := cmp.Diff(c.contains, show(jsondiff.Contains(want, got))); d != "" {
			t.Errorf("Contains %s in %s: %s", c.want, c.got, d)
		}
	}
}

func TestLongTextsAreShortened(t *testing.T) {
	want := strings.Repeat("a", 5000) + "é" + strings.Repeat("b", 5000)
	got := strings.Repeat("a", 5000) + "è" + strings.Repeat("b", 4000)
	w, g := jsondiff.Difference{Want: want, Got: got}.Texts()
	if len(w) > 200 || !strings.Contains(w, "aaé") || !strings.HasSuffix(w, "(10004 bytes)") {
		t.Error(w)
	}
	if len(g) > 200 || !strings.Contains(g, "aaè") || !strings.HasSuffix(g, "(9004 bytes)") {
		t.Error(g)
	}
	if short := jsondiff.Shorten(strings.Repeat("é", 1000)); len(short) > 200 || !strings.HasPrefix(short, "éé") || strings.Contains(short, "\uFFFD") {
		t.Error(short)
	}
}

func TestCompact(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a b":[1,"\" \\"],"c":"\t "}`: true,
		`{"a": 1}`:                      false,
		"[1,\n2]":                       false,
		`"\\" `:                         false,
		` 1`:                            false,
	} {
		if got := jsondiff.Compact(text); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}
