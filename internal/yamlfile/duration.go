package yamlfile

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Duration is written as in Go: "9s", "1m30s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// Seconds returns the duration as a number of seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it like 9s or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler, so that an error knows its line.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	if err := d.UnmarshalText([]byte(node.GetToken().Value)); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
	}
	return nil
}
