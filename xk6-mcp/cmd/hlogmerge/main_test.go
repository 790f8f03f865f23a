package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	var dirs []string
	for i := range 2 {
		dir := t.TempDir()
		r, err := histlog.Start(dir)
		require.NoError(t, err)
		d := time.Duration(i+1) * 10 * time.Millisecond
		start := time.UnixMilli(1_700_000_000_000)
		r.Series(histlog.Key{Scenario: "s", Method: "ping"}).Add(
			&wire.Reply{Start: start, End: start.Add(d), Timings: wire.Timings{Duration: d}}, 2*d, d/2)
		require.NoError(t, r.Close())
		dirs = append(dirs, dir)
	}
	out := filepath.Join(t.TempDir(), "merged")
	var b bytes.Buffer
	require.NoError(t, merge(&b, out, dirs))
	assert.Regexp(t, `s +ping +call +2 +0 +0 +0 +10\.\d+ +20\.\d+`, b.String())
	assert.Regexp(t, `s +ping +lag +2 +0 +0 +0 +5\.\d+ +10\.\d+`, b.String())
	assert.Regexp(t, `s +ping +response +2 +0 +0 +0 +20\.\d+ +40\.\d+`, b.String())

	var again bytes.Buffer
	require.NoError(t, merge(&again, "", []string{out}))
	assert.Equal(t, b.String(), again.String())

	require.ErrorContains(t, merge(&b, "", nil), "name the directories")
	require.ErrorContains(t, merge(&b, "", []string{t.TempDir()}), "has no summary.json")
}
