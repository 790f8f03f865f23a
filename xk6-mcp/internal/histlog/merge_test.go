package histlog_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// Two runs merged are one run with the calls of both.
func TestMerge(t *testing.T) {
	t.Parallel()
	key := histlog.Key{Scenario: "s", Method: "tools/call", Tool: "t"}
	both, one, two := histlog.NewRecorder(), histlog.NewRecorder(), histlog.NewRecorder()
	add := func(r *histlog.Recorder, k histlog.Key, reply *wire.Reply, response time.Duration) {
		r.Series(k).Add(reply, response)
		both.Series(k).Add(reply, response)
	}
	for i := range 100 {
		d := time.Duration(i) * time.Millisecond
		add(one, key, call(d, d, ""), 0)
		add(two, key, call(d, 2*d, ""), 3*d)
	}
	add(one, key, call(0, time.Second, wire.KindTimeout), 0)
	add(two, key, call(0, time.Second, wire.KindTimeout), 0)
	add(two, key, call(0, time.Second, wire.KindTool), 0)
	add(one, key, call(0, time.Second, wire.KindCancelled), 0)
	add(two, key, call(0, time.Second, wire.KindInterrupted), 0)
	add(two, histlog.Key{Method: "ping"}, call(0, time.Second, ""), 0)
	two.Series(key).Reject("no")
	both.Series(key).Reject("no")

	merged := histlog.NewRecorder()
	for _, r := range []*histlog.Recorder{one, two} {
		dir := t.TempDir()
		require.NoError(t, r.Write(dir))
		require.NoError(t, merged.Merge(dir))
	}
	assert.Equal(t, both.All(), merged.All())
	assert.EqualValues(t, 99, merged.All()[1].Responses)

	fromMerged, fromBoth := t.TempDir(), t.TempDir()
	require.NoError(t, merged.Write(fromMerged))
	require.NoError(t, both.Write(fromBoth))
	assert.Equal(t, readSummary(t, fromBoth), readSummary(t, fromMerged))
	assert.Equal(t, readHistogram(t, fromBoth, "s.tools_call.t.hlog"), readHistogram(t, fromMerged, "s.tools_call.t.hlog"))
	assert.EqualValues(t, 99, readHistogram(t, fromMerged, "s.tools_call.t.response.hlog").TotalCount())
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	written := func(t *testing.T) string {
		t.Helper()
		r := histlog.NewRecorder()
		r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, ""), 0)
		dir := t.TempDir()
		require.NoError(t, r.Write(dir))
		return dir
	}
	for want, spoil := range map[string]func(dir string) error{
		"has that run ended?": func(dir string) error { return os.Remove(filepath.Join(dir, histlog.SummaryFile)) },
		"ping.hlog: no such":  func(dir string) error { return os.Remove(filepath.Join(dir, "ping.hlog")) },
		"has 0 values, the summary says 1": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "ping.hlog"), nil, 0o600)
		},
		"summary.json: ": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, histlog.SummaryFile), []byte("{"), 0o600)
		},
		`version 2 in ""`: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, histlog.SummaryFile), []byte(`{"version":2}`), 0o600)
		},
		`"../a" is no name`: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, histlog.SummaryFile),
				[]byte(`{"version":1,"unit":"us","series":[{"hlog":"../a"}]}`), 0o600)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := written(t)
			require.NoError(t, spoil(dir))
			require.ErrorContains(t, histlog.NewRecorder().Merge(dir), want)
		})
	}
}
