package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// A process that ignores every request to end is killed, and so is the process that it has started.
func TestProcessThatDoesNotWantToEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*wire.Session){
		"abandoned": (*wire.Session).Abandon,
		"closed": func(s *wire.Session) {
			closeCtx, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // less than the process would get
			defer cancel()
			assert.NoError(t, s.Close(closeCtx, wire.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, child("faulty"))
			r := s.CallTool(ctx, "stubborn", nil, wire.Options{})
			require.Nil(t, r.Err)
			var result struct{ Content []struct{ Text string } }
			require.NoError(t, json.Unmarshal(r.Result, &result))
			pid, err := strconv.Atoi(result.Content[0].Text)
			require.NoError(t, err)
			require.True(t, running(pid), "the grandchild runs")
			start := time.Now()
			end(s)
			assert.Less(t, time.Since(start), 2*time.Second)
			require.Eventually(t, func() bool { return !running(pid) }, 5*time.Second, 10*time.Millisecond, "the grandchild must end too")
		})
	}
}

// running reports whether a process is there and is no zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
