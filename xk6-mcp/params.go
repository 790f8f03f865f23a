package mcp

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/types"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// Which metrics a client emits.
const (
	metricsOff    = "off"
	metricsBasic  = "basic"
	metricsPhases = "phases"
)

// clientOptions are the target and the options of new Client(target, options).
type clientOptions struct {
	wire    wire.Config
	tags    sobek.Value // checked when they are used, as k6 does
	metrics string
}

func parseClient(rt *sobek.Runtime, target, options sobek.Value) (clientOptions, error) {
	o := clientOptions{wire: wire.Config{ClientVersion: Version}, metrics: metricsPhases}
	url, err := parseTarget(rt, target)
	if err != nil {
		return o, err
	}
	o.wire.URL = url
	err = eachKey(rt, options, "option", func(key string, v sobek.Value) (err error) {
		switch key {
		case "protocolVersion":
			o.wire.ProtocolVersion, err = parseString(v)
			if o.wire.ProtocolVersion == "auto" {
				o.wire.ProtocolVersion = wire.LatestVersion
			}
		case "headers":
			o.wire.Header, err = parseHeaders(rt, v)
		case "tags":
			o.tags = v
		case "timeout":
			o.wire.Timeout, err = parseDuration(v)
		case "maxMessageSize":
			o.wire.MaxMessageSize, err = parseSize(v)
		case "metrics":
			o.metrics, err = parseString(v)
			if err == nil && o.metrics != metricsOff && o.metrics != metricsBasic && o.metrics != metricsPhases {
				err = fmt.Errorf("%q: want %q, %q or %q", o.metrics, metricsOff, metricsBasic, metricsPhases)
			}
		default:
			return errUnknown
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.wire, err = o.wire.Validate()
	return o, err
}

func parseTarget(rt *sobek.Runtime, target sobek.Value) (url string, err error) {
	if common.IsNullish(target) {
		return "", errors.New("want the URL of an MCP endpoint, such as http://127.0.0.1:8081/mcp")
	}
	if _, ok := target.(*sobek.Object); !ok {
		return parseString(target)
	}
	err = eachKey(rt, target, "target key", func(key string, v sobek.Value) error {
		if key != "url" {
			return errUnknown
		}
		url, err = parseString(v)
		return err
	})
	return url, err
}

// callParams are the parameters that any operation takes.
type callParams struct {
	wire   wire.Options
	tags   sobek.Value
	cursor string // of lists only
}

// parseParams reads the parameters of one operation. list allows those of lists.
func parseParams(rt *sobek.Runtime, input sobek.Value, list bool) (p callParams, err error) {
	err = eachKey(rt, input, "param", func(key string, v sobek.Value) (err error) {
		switch {
		case key == "headers":
			p.wire.Header, err = parseHeaders(rt, v)
		case key == "tags":
			p.tags = v
		case key == "timeout":
			p.wire.Timeout, err = parseDuration(v)
		case key == "cursor" && list:
			p.cursor, err = parseString(v)
		default:
			return errUnknown
		}
		return err
	})
	return p, err
}

var errUnknown = errors.New("unknown")

// eachKey calls set for the keys of an object that may be absent. set returns errUnknown for a key
// that it does not know.
func eachKey(rt *sobek.Runtime, input sobek.Value, what string, set func(key string, v sobek.Value) error) error {
	if common.IsNullish(input) {
		return nil
	}
	if _, ok := input.(*sobek.Object); !ok {
		return fmt.Errorf("%ss: want an object, got %s", what, input)
	}
	obj := input.ToObject(rt)
	for _, key := range obj.Keys() {
		v := obj.Get(key)
		err := set(key, v)
		switch {
		case errors.Is(err, errUnknown):
			return fmt.Errorf("unknown %s %q", what, key)
		case err != nil:
			return fmt.Errorf("%s %q: %w", what, key, err)
		}
	}
	return nil
}

func parseString(v sobek.Value) (string, error) {
	if s, ok := v.(sobek.String); ok {
		return s.String(), nil
	}
	return "", fmt.Errorf("want a string, got %s", v)
}

// parseDuration takes milliseconds or a string such as "1m30s". Zero would mean no limit at all in
// k6's own modules and is refused here rather than understood differently.
func parseDuration(v sobek.Value) (time.Duration, error) {
	d, err := types.GetDurationValue(v.Export())
	if err == nil && d <= 0 {
		err = fmt.Errorf("want more than 0, got %s", v)
	}
	return d, err
}

func parseSize(v sobek.Value) (int, error) {
	n := v.ToFloat()
	if n < 1 || n > math.MaxInt32 || n != math.Trunc(n) {
		return 0, fmt.Errorf("want a whole number of bytes from 1 to %d, got %s", math.MaxInt32, v)
	}
	return int(n), nil
}

func parseHeaders(rt *sobek.Runtime, v sobek.Value) (http.Header, error) {
	if _, ok := v.(*sobek.Object); !ok {
		return nil, fmt.Errorf("want an object, got %s", v)
	}
	h := http.Header{}
	obj := v.ToObject(rt)
	for _, name := range obj.Keys() {
		value := obj.Get(name).String()
		if strings.ContainsAny(name+value, "\r\n") {
			return nil, fmt.Errorf("header %q has a line break", name)
		}
		h.Set(name, value)
	}
	return h, nil
}
