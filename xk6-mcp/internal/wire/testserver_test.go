package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/testserver"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

const (
	hangTimeout = 150 * time.Millisecond
	afterwards  = 1000 // calls that must succeed after a fault
)

func faulty(t *testing.T, path string) (wire.Config, *testserver.Server) {
	t.Helper()
	server, err := testserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	transport := &http.Transport{MaxResponseHeaderBytes: 1 << 20}
	t.Cleanup(transport.CloseIdleConnections)
	return wire.Config{
		URL: "http://" + server.Addr() + path, HTTP: transport, ClientVersion: "test", MaxMessageSize: testserver.Limit,
	}, server
}

// After any fault the failure is named for what it is, nothing hangs past its timeout, nothing is sent
// twice, and 1,000 further calls succeed.
func TestFaultsOfTheTestServer(t *testing.T) {
	t.Parallel()
	for path, faults := range map[string]map[string]testserver.Fault{
		"/mcp": testserver.Faults(), "/sse": testserver.SSEFaults(), "": testserver.StdioFaults(),
	} {
		for _, name := range testserver.Names(faults) {
			fault := faults[name]
			t.Run(fmt.Sprintf("%s %s", path, name), func(t *testing.T) {
				t.Parallel()
				cfg := child("faulty")
				cfg.MaxMessageSize = testserver.Limit
				var server *testserver.Server
				if path != "" {
					cfg, server = faulty(t, path)
				}
				if path == "/sse" {
					cfg.Transport = wire.SSE
				}
				s := connect(t, cfg)
				opts := wire.Options{}
				if fault.Hangs {
					opts.Timeout = hangTimeout
				}
				start := time.Now()
				r := s.CallTool(ctx, name, nil, opts)
				took := time.Since(start)
				if fault.Kind == "" {
					require.Nil(t, r.Err)
					assert.NotEmpty(t, r.Result)
				} else {
					require.NotNil(t, r.Err)
					assert.Equal(t, wire.Kind(fault.Kind), r.Err.Kind, r.Err.Message)
					assert.Equal(t, r.Status, r.Err.Status)
				}
				if fault.Hangs {
					assert.GreaterOrEqual(t, took, hangTimeout)
				}
				assert.Less(t, took, 5*time.Second)
				assert.Equal(t, r.Timings.Duration, r.Timings.Sending+r.Timings.Waiting+r.Timings.Receiving)
				if server != nil {
					assert.Equal(t, 1, server.Calls(name), "nothing is sent twice")
				}
				assert.Equal(t, !fault.Lost, s.Alive())
				if fault.Lost {
					s = connect(t, cfg)
				}
				for i := range afterwards {
					r := s.CallTool(ctx, "fine", nil, wire.Options{})
					require.Nil(t, r.Err, "call %d after the fault", i)
				}
			})
		}
	}
}

// A call that hangs ends at once when the caller's context does, and so does everything else that the
// session began when it is closed.
func TestNothingHoldsUpTheEnd(t *testing.T) {
	t.Parallel()
	for path, faults := range map[string]map[string]testserver.Fault{
		"/mcp": testserver.Faults(), "/sse": testserver.SSEFaults(), "": testserver.StdioFaults(),
	} {
		for name, fault := range faults {
			if !fault.Hangs || name == "deaf for a time" {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", path, name), func(t *testing.T) {
				t.Parallel()
				cfg := child("faulty")
				if path != "" {
					cfg, _ = faulty(t, path)
				}
				if path == "/sse" {
					cfg.Transport = wire.SSE
				}
				s := connect(t, cfg)
				callCtx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				start := time.Now()
				r := s.CallTool(callCtx, name, nil, wire.Options{})
				require.NotNil(t, r.Err)
				assert.Equal(t, wire.KindInterrupted, r.Err.Kind, r.Err.Message)
				assert.Less(t, time.Since(start), 2*time.Second)

				done := make(chan *wire.Reply, 1)
				go func() { done <- s.CallTool(ctx, name, nil, wire.Options{}) }()
				time.Sleep(50 * time.Millisecond)
				start = time.Now()
				s.Abandon()
				r = <-done
				require.NotNil(t, r.Err)
				assert.Equal(t, wire.KindInterrupted, r.Err.Kind, r.Err.Message)
				assert.Less(t, time.Since(start), 2*time.Second)
			})
		}
	}
}

func TestLateReply(t *testing.T) {
	t.Parallel()
	const patience = 100 * time.Millisecond
	cfg, server := faulty(t, "/mcp")
	late := make(chan string, 1)
	exchanges := make(chan *wire.Reply, 1)
	cfg.Observer.LateReply = func(method string) { late <- method }
	cfg.Observer.Exchange = func(r *wire.Reply) { exchanges <- r }
	s := connect(t, cfg)
	callCtx, leave := context.WithCancel(ctx)
	r := s.CallTool(callCtx, "reply after cancel", nil, wire.Options{CancelAfter: patience})
	leave() // what follows does not need the caller
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindCancelled, r.Err.Kind)
	assert.GreaterOrEqual(t, r.Timings.Duration, patience)
	assert.Equal(t, "tools/call", <-late)
	cancelled := <-exchanges
	assert.Equal(t, "notifications/cancelled", cancelled.Method)
	assert.Nil(t, cancelled.Err)
	assert.Equal(t, 1, server.Calls("reply after cancel"))

	r = s.CallTool(ctx, "fine", nil, wire.Options{CancelAfter: 10 * time.Second})
	require.Nil(t, r.Err)
	assert.NotEmpty(t, r.Result)
}

func TestLateReplyOfAProcess(t *testing.T) {
	t.Parallel()
	cfg := child("sdk")
	var late atomic.Int64
	cfg.Observer.LateReply = func(string) { late.Add(1) }
	s := connect(t, cfg)
	r := s.CallTool(ctx, "slow", []byte(`{"ms":200}`), wire.Options{Timeout: 50 * time.Millisecond})
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindTimeout, r.Err.Kind)
	require.Eventually(t, func() bool { return late.Load() == 1 }, 5*time.Second, 5*time.Millisecond)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("what is not the protocol", func(t *testing.T) {
		t.Parallel()
		cfg := child("faulty")
		noise := make(chan string, 10)
		stderr := make(chan string, 10)
		exits := make(chan bool, 1)
		var spawned atomic.Int64
		cfg.Observer.Noise = func(data []byte) { noise <- string(data) }
		cfg.Observer.Spawn = func(took time.Duration, err error) {
			assert.NoError(t, err)
			assert.Positive(t, took)
			spawned.Add(1)
		}
		cfg.Observer.Exit = func(expected bool, _ string) { exits <- expected }
		cfg.Stderr = func(line string) { stderr <- line }
		s := connect(t, cfg)
		assert.EqualValues(t, 1, spawned.Load())
		require.Nil(t, s.CallTool(ctx, "noise", nil, wire.Options{}).Err)
		assert.Equal(t, "Listening on 8080", <-noise)
		assert.Contains(t, <-noise, "[warn]")
		require.Nil(t, s.CallTool(ctx, "stderr", nil, wire.Options{}).Err)
		assert.Equal(t, "a word on standard error", <-stderr)
		require.NoError(t, s.Close(ctx, wire.Options{}))
		assert.True(t, <-exits)
	})
	t.Run("ends by itself", func(t *testing.T) {
		t.Parallel()
		cfg := child("faulty")
		exits := make(chan string, 1)
		cfg.Observer.Exit = func(expected bool, status string) {
			assert.False(t, expected)
			exits <- status
		}
		s := connect(t, cfg)
		r := s.CallTool(ctx, "crash", nil, wire.Options{})
		require.NotNil(t, r.Err)
		assert.Contains(t, r.Err.Message, "exit status 3")
		assert.Equal(t, "exit status 3", <-exits)
		r = s.CallTool(ctx, "fine", nil, wire.Options{})
		require.NotNil(t, r.Err)
		assert.Equal(t, wire.KindExit, r.Err.Kind)
	})
	t.Run("does not start", func(t *testing.T) {
		t.Parallel()
		spawned := make(chan error, 1)
		cfg := wire.Config{Command: []string{"/no/such/program"}}
		cfg.Observer.Spawn = func(_ time.Duration, err error) { spawned <- err }
		_, handshake, err := wire.Connect(ctx, cfg, wire.Options{})
		assert.Equal(t, wire.KindSpawn, kindOf(t, err))
		assert.Len(t, handshake.Replies, 1)
		require.Error(t, <-spawned)
	})
	t.Run("is no server", func(t *testing.T) {
		t.Parallel()
		_, _, err := wire.Connect(ctx, wire.Config{Command: []string{"true"}}, wire.Options{})
		assert.Equal(t, wire.KindExit, kindOf(t, err))
		_, _, err = wire.Connect(ctx, wire.Config{Command: []string{"sleep", "600"}}, wire.Options{Timeout: hangTimeout})
		assert.Equal(t, wire.KindTimeout, kindOf(t, err))
	})
}
