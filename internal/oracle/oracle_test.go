package oracle_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

var reference = oracle.Oracle{Upstream: upstream.Handler()}

// What only shows between a server and its upstream: waits, broken connections, an upstream that is not there.
var needsNetwork = []string{"fetch/timeout", "fetch/close", "fetch/after-close", "fetch/refused", "fetch/huge"}

// The oracle and the written vectors are made independently, so each proves the other.
func TestVectorsAgreeWithOracle(t *testing.T) {
	vectors, err := contract.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, v := range vectors {
		if slices.Contains(needsNetwork, v.Name) {
			continue
		}
		for _, step := range v.AllSteps() {
			if step.Call == nil || step.Expect.HTTP {
				continue
			}
			checked++
			var arguments json.RawMessage
			if step.Call.Arguments != nil {
				arguments = json.RawMessage(*step.Call.Arguments)
			}
			answer, err := reference.Call(step.Call.Tool, arguments)
			if !fits(*step.Expect, answer, err) {
				t.Errorf("%s: oracle gives %.300s, error %v; the vector expects %+v", v.Name, answer, err, *step.Expect)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d calls were checked", checked)
	}
}

func fits(want contract.Expect, answer json.RawMessage, err error) bool {
	var toolErr *oracle.ToolError
	switch {
	case len(want.AnyOf) > 0:
		return slices.ContainsFunc(want.AnyOf, func(e contract.Expect) bool { return fits(e, answer, err) })
	case want.Result != nil:
		return err == nil && equal(*want.Result, string(answer))
	case want.ToolError != nil:
		return errors.As(err, &toolErr) && (*want.ToolError == "" || toolErr.Argument == *want.ToolError)
	case len(want.RPCError) > 0:
		return err != nil && !errors.As(err, &toolErr)
	}
	return false
}

func equal(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func TestUnknownTool(t *testing.T) {
	if _, err := reference.Call("nope", nil); !errors.Is(err, oracle.ErrUnknownTool) {
		t.Errorf("got %v", err)
	}
}

func TestRandomIsDeterminedByItsSeed(t *testing.T) {
	texts := map[string]bool{}
	for _, seed := range []uint64{1, 1, 2} {
		vectors, err := reference.Random(seed, 40)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, v := range vectors {
			all.WriteString(*v.Call.Arguments + *v.Expect.Result)
		}
		texts[all.String()] = true
	}
	if len(texts) != 2 {
		t.Errorf("seeds 1, 1 and 2 gave %d different sets of vectors, wanted 2", len(texts))
	}
}
