// Package jsondiff reads JSON without altering it and names every place where two values differ.
//
// Values are nil, bool, string, json.Number, []any and map[string]any. Numbers keep their text, so that nothing is lost
// before the comparison.
package jsondiff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads one JSON value. Unlike encoding/json it refuses what it could only return altered: bytes that are not
// UTF-8, lone surrogates, and a key that is present twice in one object (allowed by jsontext.AllowDuplicateNames, the last one
// then counts).
func Parse(text []byte, options ...jsontext.Options) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), options...)
	value, err := parseValue(d)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no JSON value: the text is empty")
		}
		return nil, err
	}
	if _, err := d.ReadToken(); err == nil {
		return nil, fmt.Errorf("more text after the JSON value, at byte %d", d.InputOffset())
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return value, nil
}

func parseValue(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case '[':
		array := []any{}
		for d.PeekKind() != ']' {
			element, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			array = append(array, element)
		}
		_, err := d.ReadToken()
		return array, err
	default: // '{': the decoder lets no closing token through here
		object := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String() // before the token's buffer is used again
			if object[key], err = parseValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return object, err
	}
}

// Compact reports whether the JSON text has no white space between its tokens.
func Compact(text string) bool {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			return false
		}
	}
	return true
}
