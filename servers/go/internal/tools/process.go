package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

const (
	maxDepth  = 64
	maxNumber = 1<<53 - 1 // above it a double skips integers
)

type processAnswer struct {
	Keys   []string       `json:"keys"`
	Data   map[string]any `json:"data"`
	Counts counts         `json:"counts"`
	Depth  int            `json:"depth"`
}

type counts struct {
	Objects  int `json:"objects"`
	Arrays   int `json:"arrays"`
	Strings  int `json:"strings"`
	Numbers  int `json:"numbers"`
	Booleans int `json:"booleans"`
	Nulls    int `json:"nulls"`
}

func processJSONData(_ context.Context, args *arguments) (any, error) {
	data := args.object("data")
	if err := args.err(); err != nil {
		return nil, err
	}

	// Sorting by UTF-8 bytes is sorting by code point.
	answer := processAnswer{Keys: slices.AppendSeq(make([]string, 0, len(data)), maps.Keys(data)), Data: data}
	slices.Sort(answer.Keys)
	p := processor{answer: &answer}
	if _, err := p.value(data, 0); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return answer, nil
}

// processor walks a decoded JSON value once, counting and changing it in place.
type processor struct {
	answer *processAnswer
}

// value returns what takes the place of v, which has depth containers around it.
func (p processor) value(v any, depth int) (any, error) {
	counts := &p.answer.Counts
	switch v := v.(type) {
	case map[string]any:
		counts.Objects++
		if err := p.enter(depth + 1); err != nil {
			return nil, err
		}
		for key, member := range v {
			changed, err := p.value(member, depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = changed
		}
	case []any:
		counts.Arrays++
		if err := p.enter(depth + 1); err != nil {
			return nil, err
		}
		for i, element := range v {
			changed, err := p.value(element, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = changed
		}
	case string:
		counts.Strings++
		return upperASCII(v), nil
	case float64:
		counts.Numbers++
		if math.Abs(v) > maxNumber {
			return nil, fmt.Errorf("has the number %v; numbers can be at most %d in magnitude", v, maxNumber)
		}
	case bool:
		counts.Booleans++
	case nil:
		counts.Nulls++
	}
	return v, nil
}

func (p processor) enter(depth int) error {
	if depth > maxDepth {
		return errors.New("has more than 64 levels of objects and arrays")
	}
	p.answer.Depth = max(p.answer.Depth, depth)
	return nil
}

// upperASCII leaves every letter outside ASCII alone, unlike strings.ToUpper.
func upperASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - ('a' - 'A')
		}
	}
	return string(b)
}
