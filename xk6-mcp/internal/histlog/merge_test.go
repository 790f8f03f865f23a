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
	first := func(r *histlog.Recorder) {
		for i := range 100 {
			d := time.Duration(i) * 30 * time.Millisecond
			r.Series(key).Add(call(d, d, ""), 0, none)
		}
		r.Series(key).Add(call(0, time.Second, wire.KindTimeout), 0, none)
		r.Series(key).Add(call(0, time.Second, wire.KindCancelled), 0, none)
	}
	second := func(r *histlog.Recorder) {
		for i := range 100 {
			d := time.Duration(i) * 30 * time.Millisecond
			r.Series(key).Add(call(d+2*time.Second, 2*d, ""), 3*d, d)
		}
		r.Series(key).Add(call(0, time.Second, wire.KindTimeout), 0, none)
		r.Series(key).Add(call(0, time.Second, wire.KindTool), 0, none)
		r.Series(key).Add(call(0, time.Second, wire.KindInterrupted), 0, none)
		r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, ""), 0, none)
		r.Series(key).Reject("no")
	}
	dirs := []string{recorded(t, first), recorded(t, second)}
	both := recorded(t, func(r *histlog.Recorder) { first(r); second(r) })

	merged := filepath.Join(t.TempDir(), "merged")
	rows, err := histlog.Merge(dirs, merged)
	require.NoError(t, err)
	want, err := histlog.Merge([]string{both}, "")
	require.NoError(t, err)
	for i := range want { // not the names of files, which have not been written
		want[i].Hlog, want[i].ResponseHlog, want[i].LagHlog = rows[i].Hlog, rows[i].ResponseHlog, rows[i].LagHlog
	}
	assert.Equal(t, want, rows)
	assert.EqualValues(t, 200, rows[1].OK)
	assert.EqualValues(t, 99, rows[1].Responses)
	assert.InEpsilon(t, 50*30e3, rows[1].Lag.P50, 0.05)
	assert.InEpsilon(t, 3*99*30e3, rows[1].Response.Max, 0.001)

	assert.Equal(t, readSummary(t, both), readSummary(t, merged))
	assert.Equal(t, fileNames(t, both), fileNames(t, merged))
	for _, name := range fileNames(t, both) {
		want, err := os.ReadFile(filepath.Join(both, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(merged, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	written := func(t *testing.T) string {
		t.Helper()
		return recorded(t, func(r *histlog.Recorder) {
			r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, ""), 0, none)
		})
	}
	summary := func(text string) func(string) error {
		return func(dir string) error {
			return os.WriteFile(filepath.Join(dir, histlog.SummaryFile), []byte(text), 0o600)
		}
	}
	edit := func(change func([]byte) []byte) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, "ping.hlog")
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(text), 0o600)
		}
	}
	for want, spoil := range map[string]func(dir string) error{
		"has that run ended?":                         func(dir string) error { return os.Remove(filepath.Join(dir, histlog.SummaryFile)) },
		"ping.hlog: no such":                          func(dir string) error { return os.Remove(filepath.Join(dir, "ping.hlog")) },
		"has 0 values, the summary says 1":            edit(func([]byte) []byte { return nil }),
		"does not follow":                             edit(func(text []byte) []byte { return append(text, lastLine(text)...) }),
		"ping.hlog: ":                                 edit(func(text []byte) []byte { return text[:len(text)-20] }),
		"summary.json: ":                              summary("{"),
		"version 1 has one histogram for a whole run": summary(`{"version":1,"unit":"us","series":[]}`),
		`version 3 in "us"`:                           summary(`{"version":3,"unit":"us","interval_ms":1000}`),
		`in "us" by 100 ms`:                           summary(`{"version":2,"unit":"us","interval_ms":100}`),
		`"../a" is no name`:                           summary(`{"version":2,"unit":"us","interval_ms":1000,"series":[{"hlog":"../a"}]}`),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := written(t)
			require.NoError(t, spoil(dir))
			_, err := histlog.Merge([]string{dir}, "")
			require.ErrorContains(t, err, want)
		})
	}
	dir := written(t)
	_, err := histlog.Merge([]string{dir}, dir)
	require.ErrorContains(t, err, "name another directory")
	assert.Contains(t, fileNames(t, dir), "ping.hlog")
}

func lastLine(text []byte) []byte {
	i := len(text) - 1
	for i > 0 && text[i-1] != '\n' {
		i--
	}
	return text[i:]
}
