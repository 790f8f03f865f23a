package tools

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// arguments reads the arguments of one call. The SDK's typed handlers round
// integers and replace lone surrogates in silence, so the raw JSON is decoded
// here, strictly. It collects everything that is wrong, so that a caller can
// mend all of it at once.
type arguments struct {
	values map[string]jsontext.Value
	wrong  []string
}

// lastWins makes the last of two equal keys count, as the contract says. The
// default for duplicates, where they are allowed, is to merge their objects.
var lastWins = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsonv1.MergeWithLegacySemantics(true))

// parseArguments takes the raw arguments member, empty when it was absent.
func parseArguments(raw []byte) (*arguments, error) {
	a := &arguments{}
	if len(raw) == 0 {
		return a, nil
	}
	if jsontext.Value(raw).Kind() != '{' {
		return nil, errNotAnObject
	}
	if err := json.Unmarshal(raw, &a.values, lastWins); err != nil {
		a.wrong = append(a.wrong, fmt.Sprintf("arguments: not well-formed text: %v", err))
	}
	return a, nil
}

// integer reads an integer argument, however it is written: 10, 10.0 or 1e1.
// Without a fallback the argument is required.
func (a *arguments) integer(name string, low, high int, fallback ...int) int {
	raw, ok := a.take(name)
	if !ok {
		if len(fallback) > 0 {
			return fallback[0]
		}
		a.reject(name, "is required")
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	// ParseFloat also knows forms that JSON does not, hence the kind.
	if raw.Kind() != '0' || err != nil || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		a.reject(name, fmt.Sprintf("must be an integer from %d to %d", low, high))
		return 0
	}
	return int(f)
}

// text reads a required string argument.
func (a *arguments) text(name string) (string, bool) {
	raw, ok := a.take(name)
	if !ok {
		a.reject(name, "is required")
		return "", false
	}
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
		a.reject(name, "must be a string")
		return "", false
	}
	return s, true
}

// textOfLength reads a required string of low to high Unicode code points.
func (a *arguments) textOfLength(name string, low, high int) string {
	s, ok := a.text(name)
	if n := utf8.RuneCountInString(s); ok && (n < low || n > high) {
		a.reject(name, fmt.Sprintf("must have %d to %d characters", low, high))
	}
	return s
}

// textLike reads a required string that matches a pattern.
func (a *arguments) textLike(name string, pattern *regexp.Regexp) string {
	s, ok := a.text(name)
	if ok && !pattern.MatchString(s) {
		a.reject(name, "must match "+pattern.String())
	}
	return s
}

// object reads a required object argument.
func (a *arguments) object(name string) map[string]any {
	raw, ok := a.take(name)
	if !ok {
		a.reject(name, "is required")
		return nil
	}
	if raw.Kind() != '{' {
		a.reject(name, "must be an object")
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m, lastWins); err != nil {
		a.reject(name, err.Error())
	}
	return m
}

// take removes an argument, so that what remains is unknown.
func (a *arguments) take(name string) (jsontext.Value, bool) {
	raw, ok := a.values[name]
	delete(a.values, name)
	return raw, ok
}

func (a *arguments) reject(name, problem string) {
	a.wrong = append(a.wrong, name+": "+problem)
}

// err says all that is wrong, or nil. Arguments that nothing read are wrong.
func (a *arguments) err() error {
	unknown := make([]string, 0, len(a.values))
	for name := range a.values {
		unknown = append(unknown, name+": is not an argument of this tool")
	}
	slices.Sort(unknown)
	if wrong := append(a.wrong, unknown...); len(wrong) > 0 {
		return fmt.Errorf("wrong arguments: %s", strings.Join(wrong, "; "))
	}
	return nil
}
