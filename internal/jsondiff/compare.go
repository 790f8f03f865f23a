package jsondiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Absent stands for a value that is not there, which is not the same as null.
type Absent struct{}

// Difference is one place where two values differ.
type Difference struct {
	// Pointer is a JSON pointer (RFC 6901), "" for the value as a whole.
	Pointer string
	// Want and Got are the two values; one of them may be Absent.
	Want, Got any
}

// Compare returns every difference, in document order with the members of objects sorted by name. Numbers are compared
// by value, objects by key, arrays in order; null is not absent and [] is not null.
func Compare(want, got any) []Difference {
	var c comparison
	c.compare("", want, got)
	return c.differences
}

// Contains is Compare, but objects in got may have more members than those in want.
func Contains(want, got any) []Difference {
	c := comparison{subset: true}
	c.compare("", want, got)
	return c.differences
}

// Equal reports whether the two values have no difference.
func Equal(a, b any) bool { return len(Compare(a, b)) == 0 }

type comparison struct {
	subset      bool
	differences []Difference
}

func (c *comparison) compare(pointer string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.objects(pointer, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			c.arrays(pointer, w, g)
			return
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && equalNumbers(w, g) {
			return
		}
	default: // string, bool, nil, Absent
		switch got.(type) {
		case map[string]any, []any: // not comparable by ==
		default:
			if want == got {
				return
			}
		}
	}
	c.differences = append(c.differences, Difference{pointer, want, got})
}

func (c *comparison) objects(pointer string, want, got map[string]any) {
	names := slices.Collect(maps.Keys(want))
	if !c.subset {
		for name := range got {
			if _, ok := want[name]; !ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.compare(pointer+"/"+Escape(name), member(want, name), member(got, name))
	}
}

func (c *comparison) arrays(pointer string, want, got []any) {
	for i := range max(len(want), len(got)) {
		c.compare(pointer+"/"+strconv.Itoa(i), element(want, i), element(got, i))
	}
}

func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return Absent{}
}

func element(array []any, i int) any {
	if i < len(array) {
		return array[i]
	}
	return Absent{}
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Escape turns an object's key into one token of a JSON pointer.
func Escape(key string) string { return escaper.Replace(key) }
