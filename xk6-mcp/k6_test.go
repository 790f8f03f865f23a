package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

const (
	closedLoop = "../experiments/scripts/closed.js"
	openLoop   = "../experiments/scripts/open.js"
)

// binary is the k6 with the extension, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "k6")
	build := exec.Command("go", "build", "-o", path, "./cmd/k6")
	build.Stderr = os.Stderr
	return path, build.Run()
})

var buildDir string

func TestMain(m *testing.M) {
	if os.Getenv(stdioEnv) != "" {
		serveStdio()
		return
	}
	if os.Getenv(k6Env) != "" {
		runK6()
		return
	}
	if os.Getenv(serverEnv) != "" {
		serveHTTP()
		return
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "xk6-mcp-"); err != nil {
		panic(err)
	}
	code := m.Run()
	// The SDK's servers keep a reader for each session, and go on with calls whose callers have gone.
	const connection = "github.com/modelcontextprotocol/go-sdk/internal/jsonrpc2.(*Connection)."
	left := goleak.Find(goleak.IgnoreAnyFunction(connection+"readIncoming"), goleak.IgnoreAnyFunction(connection+"handleAsync.func2"))
	if left != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", left)
		code = 1
	}
	if err := os.RemoveAll(buildDir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// k6 prepares a run of a script with nothing sent outside.
func k6(t *testing.T, env map[string]string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	args = append([]string{"run", "--no-usage-report", "--address", "", "--quiet", "--no-color"}, args...)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "K6_AUTO_EXTENSION_RESOLUTION=false")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	return cmd, output
}

// counting is a fixture that counts sessions that are ended.
type counting struct {
	http.Handler
	initialized, deleted atomic.Int64
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodDelete:
		c.deleted.Add(1)
	case r.Header.Get("Mcp-Session-Id") == "":
		c.initialized.Add(1)
	}
	c.Handler.ServeHTTP(w, r)
}

func countingServer(t *testing.T) (*counting, string) {
	t.Helper()
	return countSessions(t, mcptest.Handler(&sdk.StreamableHTTPOptions{JSONResponse: true}))
}

func countSessions(t *testing.T, h http.Handler) (*counting, string) {
	t.Helper()
	c := &counting{Handler: h}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL + "/mcp"
}

func readSummary(t *testing.T, dir string) map[histlog.Key]histlog.Totals {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, histlog.SummaryFile))
	require.NoError(t, err)
	var summary histlog.Summary
	require.NoError(t, json.Unmarshal(data, &summary))
	series := map[histlog.Key]histlog.Totals{}
	for _, s := range summary.Series {
		series[s.Key] = s
	}
	return series
}

func TestScriptsThatNeedNoServer(t *testing.T) {
	t.Parallel()
	cmd, output := k6(t, nil, "smoke.test.js")
	require.NoError(t, cmd.Run(), output)
}

// requireExample runs an example. What it counts must hold; that it is fast enough is asked of no machine on which all
// tests run at once.
func requireExample(t *testing.T, cmd *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	err := cmd.Run()
	errors := regexp.MustCompile(`level=error msg=("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(output.String(), -1)
	if len(errors) == 0 {
		require.NoError(t, err, output)
		return
	}
	crossed := regexp.MustCompile(`^"thresholds on metrics '(.*)' have been crossed"$`).FindStringSubmatch(errors[0][1])
	require.True(t, len(errors) == 1 && crossed != nil, output)
	speed := regexp.MustCompile(`^(mcp_req_duration|mcp_response_time|mcp_schedule_lag|mcp_session_connecting|mcp_auth_duration|dropped_iterations)\b`)
	for name := range strings.SplitSeq(crossed[1], ", ") {
		require.Regexp(t, speed, name, output)
	}
	t.Log("too slow for its thresholds:", crossed[1])
}

// Every example runs against the server in Go, with settings that make it short.
func TestExamples(t *testing.T) {
	t.Parallel()
	goBinary, err := goServerBinary()
	require.NoError(t, err)
	const stateful = "MCP_SESSIONS=stateful"
	few := []string{"--iterations", "20"}
	settings := map[string]struct {
		server string // its setting; "" for the default: no sessions
		env    map[string]string
		args   []string
	}{
		"smoke.js":        {args: few},
		"tool-call.js":    {server: stateful, args: few},
		"sessions.js":     {server: stateful, args: few},
		"negative.js":     {},
		"ramp.js":         {env: map[string]string{"STEP": "300ms"}},
		"arrival-rate.js": {env: map[string]string{"DURATION": "1s", "RATE": "20"}},
		"soak.js":         {server: stateful, env: map[string]string{"DURATION": "2s", "WARMUP": "1"}},
		"idle-streams.js": {server: stateful, env: map[string]string{"STREAMS": "50", "HOLD": "1"}},
		"stateless.js":    {server: stateful, env: map[string]string{"SECONDS": "1", "MCP_URL_STATELESS": goServer(t) + "/mcp"}},
		"sse.js":          {server: "MCP_TRANSPORT=sse", args: few},
		"stdio.js":        {args: few, env: map[string]string{"MCP_COMMAND": goBinary}},
		"auth.js":         {}, // TestAuth runs it, with a server of tokens
	}
	scripts, err := filepath.Glob("examples/*.js")
	require.NoError(t, err)
	require.Len(t, scripts, len(settings))
	for _, script := range scripts {
		name := filepath.Base(script)
		set, ok := settings[name]
		require.True(t, ok, "how is %s made short?", script)
		if name == "auth.js" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(set.env)
			if env == nil {
				env = map[string]string{}
			}
			var sessions *counting
			switch {
			case name == "stdio.js": // starts the server itself
			case set.server == stateful:
				sessions, env["MCP_URL"] = countSessions(t, proxy(t, goServer(t, set.server)))
			case name == "sse.js":
				env["MCP_URL"] = goServer(t, set.server) + "/sse"
			default:
				env["MCP_URL"] = goServer(t) + "/mcp"
			}
			cmd, output := k6(t, env, append(set.args, script)...)
			requireExample(t, cmd, output)
			if sessions != nil {
				assert.Positive(t, sessions.initialized.Load())
				assert.Equal(t, sessions.initialized.Load(), sessions.deleted.Load(), "every session is ended")
			}
		})
	}
}

// loadEnv is what the scripts of the experiments need.
func loadEnv(url, dir string, more map[string]string) map[string]string {
	env := map[string]string{
		"MCP_URL": url, "K6_MCP_HISTOGRAMS": dir, "REVISION": wire.LatestVersion, "SESSIONS": "per_user", "SAMPLE": "20",
		"USERS": "3", "DURATION": "1500ms", "CALLS": `[{"tool":"echo","arguments":{"text":"x"}}]`, "EXPECTED": `[{"text":"x"}]`,
	}
	maps.Copy(env, more)
	return env
}

// requireWellKept checks what must hold of any run's files: each log has as many values as the summary says, by whole seconds.
func requireWellKept(t *testing.T, dir string) map[histlog.Key]histlog.Totals {
	t.Helper()
	_, err := histlog.Merge([]string{dir}, "")
	require.NoError(t, err)
	parts, err := filepath.Glob(filepath.Join(dir, "*.part"))
	require.NoError(t, err)
	assert.Empty(t, parts)
	return readSummary(t, dir)
}

// readIterations reads what the scripts write beside the histograms.
func readIterations(t *testing.T, dir string) (i struct {
	Iterations int64 `json:"iterations"`
	Dropped    int64 `json:"dropped_iterations"`
},
) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "iterations.json"))
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&i))
	return i
}

func closedKey(method, tool string) histlog.Key {
	return histlog.Key{Scenario: "closed", Method: method, Tool: tool}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	server, url := countingServer(t)
	dir := filepath.Join(t.TempDir(), "histograms")
	cmd, output := k6(t, loadEnv(url, dir, map[string]string{
		"CALLS":    `[{"tool":"echo","arguments":{"text":"x"}},{"tool":"calculate_fibonacci","arguments":{"n":10}}]`,
		"EXPECTED": `[{"text":"x"},{"n":10,"result":55}]`, "SAMPLE": "1",
	}), closedLoop)
	require.NoError(t, cmd.Run(), output)
	assert.Empty(t, output.String())
	assert.EqualValues(t, 3, server.initialized.Load(), "one session per user")
	assert.EqualValues(t, 3, server.deleted.Load())

	series := requireWellKept(t, dir)
	require.Len(t, series, 5)
	for _, s := range series {
		assert.Zero(t, s.Failed+s.ToolFailed+s.Wrong+s.Interrupted, s.FirstError+s.FirstWrong)
		assert.Zero(t, s.Responses+s.Lags, "nothing is intended in a closed loop")
	}
	for _, method := range []string{"initialize", "notifications/initialized", "DELETE"} {
		assert.EqualValues(t, 3, series[closedKey(method, "")].OK, method)
	}
	first, second := series[closedKey("tools/call", "echo")], series[closedKey("tools/call", "calculate_fibonacci")]
	assert.Positive(t, first.OK)
	assert.Equal(t, first.OK, second.OK, "each iteration makes both calls")
	assert.Equal(t, first.OK, readIterations(t, dir).Iterations)
	// Wide limits: a busy machine may start k6's users late.
	assert.InDelta(t, 1500, second.EndUnixMs-first.StartUnixMs, 1000)
}

func TestClosedLoopRampsAndSleeps(t *testing.T) {
	t.Parallel()
	server, url := countingServer(t)
	dir := t.TempDir()
	cmd, output := k6(t, loadEnv(url, dir, map[string]string{"USERS": "4", "RAMP": "2s", "DURATION": "3s", "SLEEP": "100ms"}), closedLoop)
	require.NoError(t, cmd.Run(), output)
	assert.EqualValues(t, 4, server.initialized.Load())
	series := requireWellKept(t, dir)
	opening := series[closedKey("initialize", "")]
	assert.Greater(t, opening.EndUnixMs-opening.StartUnixMs, int64(1000), "the users start one after the other")
	calling := series[closedKey("tools/call", "echo")]
	assert.Positive(t, calling.OK)
	assert.LessOrEqual(t, calling.OK, int64(4*31), "each user waits after each of its iterations")
}

func TestClosedLoopWithASessionForEachCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		calls           int64 // in an iteration
		calling, answer string
	}{
		"two calls": {2, `[{"tool":"echo","arguments":{"text":"x"}},{"tool":"calculate_fibonacci","arguments":{"n":10}}]`, `[{"text":"x"},{"n":10,"result":55}]`},
		"no call":   {0, `[]`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := countingServer(t)
			dir := t.TempDir()
			cmd, output := k6(t, loadEnv(url, dir, map[string]string{
				"SESSIONS": "per_call", "CALLS": test.calling, "EXPECTED": test.answer,
			}), closedLoop)
			require.NoError(t, cmd.Run(), output)
			series := requireWellKept(t, dir)
			for _, s := range series {
				assert.Zero(t, s.Failed+s.ToolFailed+s.Wrong+s.Interrupted, s.FirstError+s.FirstWrong)
			}
			iterations := readIterations(t, dir).Iterations
			assert.Positive(t, iterations)
			sessions := max(1, test.calls) * iterations
			assert.Equal(t, sessions, server.initialized.Load())
			assert.Equal(t, sessions, server.deleted.Load())
			for _, method := range []string{"initialize", "notifications/initialized", "DELETE"} {
				assert.Equal(t, sessions, series[closedKey(method, "")].OK, method)
			}
			assert.Len(t, series, 3+int(test.calls))
			if test.calls > 0 {
				assert.Equal(t, iterations, series[closedKey("tools/call", "echo")].OK)
			}
		})
	}
}

// A server that stops letting clients in: what fails is counted, and users do not spin on it.
func TestClosedLoopCountsFailedSessions(t *testing.T) {
	t.Parallel()
	counted, _ := countingServer(t)
	var refusing atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" && counted.initialized.Load() >= 10 {
			refusing.Store(true)
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		counted.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	cmd, output := k6(t, loadEnv(server.URL, dir, map[string]string{"SESSIONS": "per_call", "DURATION": "3s"}), closedLoop)
	require.NoError(t, cmd.Run(), output)
	require.True(t, refusing.Load())
	opening := requireWellKept(t, dir)[closedKey("initialize", "")]
	assert.Positive(t, opening.Failed)
	assert.LessOrEqual(t, opening.Failed, int64(3*4), "each user tries once in a second")
	assert.Contains(t, opening.FirstError, "503")
}

func TestOpenLoop(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	for _, sessions := range []string{"per_user", "per_call"} {
		t.Run(sessions, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, output := k6(t, loadEnv(url, dir, map[string]string{"RATE": "40", "USERS": "40", "DURATION": "2s", "SESSIONS": sessions}), openLoop)
			require.NoError(t, cmd.Run(), output)
			assert.Empty(t, output.String())
			series := requireWellKept(t, dir)
			key := func(method, tool string) histlog.Key {
				return histlog.Key{Scenario: "open", Method: method, Tool: tool}
			}
			calling, opening := series[key("tools/call", "echo")], series[key("initialize", "")]
			iterations := readIterations(t, dir)
			assert.Zero(t, iterations.Dropped)
			began := iterations.Iterations
			assert.InDelta(t, 80, began, 1)
			assert.Equal(t, began, calling.OK)
			assert.Equal(t, began, calling.Responses)
			assert.Equal(t, began, calling.Lags+opening.Lags, "each iteration tells of its lag, with its first request")
			assert.Zero(t, opening.Responses)
		})
	}
}

// Users who are all busy make k6 drop iterations.
func TestOpenLoopDrops(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	dir := t.TempDir()
	cmd, output := k6(t, loadEnv(url, dir, map[string]string{
		"RATE": "20", "USERS": "1", "CALLS": `[{"tool":"slow","arguments":{"ms":400}}]`, "EXPECTED": `[{"ms":400}]`, "SAMPLE": "1000",
	}), openLoop)
	require.NoError(t, cmd.Run(), output)
	iterations := readIterations(t, dir)
	assert.Positive(t, iterations.Dropped)
	assert.InDelta(t, 30, iterations.Iterations+iterations.Dropped, 1)
}

func TestClosedLoopListsTools(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url}, nil)
	require.NoError(t, err)
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	require.NoError(t, session.Close())
	slices.Sort(names)
	for want, expected := range map[string][]string{"": names, "/0: want ": append([]string{"another"}, names[1:]...)} {
		dir := t.TempDir()
		cmd, output := k6(t, loadEnv(url, dir, map[string]string{
			"CALLS": `[{"method":"tools/list"}]`, "EXPECTED": quote(t, [][]string{expected}), "SAMPLE": "1",
		}), closedLoop)
		require.NoError(t, cmd.Run(), output)
		listing := requireWellKept(t, dir)[closedKey("tools/list", "")]
		assert.Positive(t, listing.OK)
		if want == "" {
			assert.Zero(t, listing.Wrong, listing.FirstWrong)
		} else {
			assert.Equal(t, listing.OK, listing.Wrong)
			assert.Contains(t, listing.FirstWrong, want)
		}
	}
}

func TestClosedLoopCountsWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	fibonacci := `[{"tool":"calculate_fibonacci","arguments":{"n":10}}]`
	for name, test := range map[string]struct {
		env  map[string]string
		tool string
		want func(t *testing.T, s histlog.Totals)
	}{
		"wrong answers": {map[string]string{"EXPECTED": `[{"text":"y"}]`, "SAMPLE": "1"}, "echo", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.Equal(t, s.OK, s.Wrong)
			assert.Equal(t, `/text: want "y", got "x"`, s.FirstWrong)
		}},
		"equal by value": {map[string]string{
			"CALLS": fibonacci, "EXPECTED": `[{"result":55.0,"n":1e1}]`, "SAMPLE": "1",
		}, "calculate_fibonacci", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.Positive(t, s.OK)
			assert.Zero(t, s.Wrong, s.FirstWrong)
		}},
		"missing member": {map[string]string{
			"CALLS": fibonacci, "EXPECTED": `[{"n":10,"result":55,"x":null}]`, "SAMPLE": "1",
		}, "calculate_fibonacci", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.Equal(t, "/x: missing", s.FirstWrong)
		}},
		"sampled": {map[string]string{"EXPECTED": `[{}]`, "SAMPLE": "1000000"}, "echo", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.EqualValues(t, 1, s.Wrong, "the first user's first answer")
		}},
		"tool errors": {map[string]string{"CALLS": `[{"tool":"fail"}]`}, "fail", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.Positive(t, s.ToolFailed)
			assert.Equal(t, s.ToolFailed, s.Errors[wire.KindTool])
			assert.Empty(t, s.Hlog)
		}},
		"protocol errors": {map[string]string{"CALLS": `[{"tool":"none"}]`}, "none", func(t *testing.T, s histlog.Totals) {
			t.Helper()
			assert.Positive(t, s.Failed)
			assert.Contains(t, s.FirstError, "-32602")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, output := k6(t, loadEnv(url, dir, test.env), closedLoop)
			require.NoError(t, cmd.Run(), output)
			test.want(t, requireWellKept(t, dir)[closedKey("tools/call", test.tool)])
		})
	}
}

func TestLoadScriptsRefuseBadInput(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct {
		script string
		env    map[string]string
	}{
		"MCP_URL is not set":                              {closedLoop, map[string]string{"MCP_URL": ""}},
		"REVISION is not set":                             {closedLoop, map[string]string{"REVISION": ""}},
		"SESSIONS: want per_user or per_call, got global": {closedLoop, map[string]string{"SESSIONS": "global"}},
		"CALLS: Unexpected end":                           {closedLoop, map[string]string{"CALLS": "{"}},
		"CALLS: want a JSON array":                        {closedLoop, map[string]string{"CALLS": "{}"}},
		"CALLS: want {":                                   {closedLoop, map[string]string{"CALLS": `[{"method":"ping"}]`}},
		"CALLS has an unknown member args":                {closedLoop, map[string]string{"CALLS": `[{"tool":"echo","args":{}}]`}},
		"CALLS is empty":                                  {closedLoop, map[string]string{"CALLS": `[]`, "EXPECTED": `[]`}},
		"EXPECTED is not set":                             {closedLoop, map[string]string{"EXPECTED": ""}},
		"EXPECTED has 0 members, CALLS has 1":             {closedLoop, map[string]string{"EXPECTED": "[]"}},
		"USERS: want a whole number":                      {closedLoop, map[string]string{"USERS": "0"}},
		"DURATION: want a number with ms, s or m":         {closedLoop, map[string]string{"DURATION": "10"}},
		"RAMP: want less than DURATION":                   {closedLoop, map[string]string{"RAMP": "2s"}},
		"RATE is not set":                                 {openLoop, nil},
		"no session with http://127.0.0.1:9/mcp: connect": {closedLoop, nil},
		"no session with http://127.0.0.1:9/mcp: ":        {openLoop, map[string]string{"RATE": "10", "SESSIONS": "per_call"}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			cmd, output := k6(t, loadEnv("http://127.0.0.1:9/mcp", t.TempDir(), test.env), test.script)
			require.Error(t, cmd.Run())
			assert.Contains(t, output.String(), want)
		})
	}
}

// Ctrl-C ends a run early, with its sessions ended and its histograms written.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	server, url := countingServer(t)
	dir := t.TempDir()
	cmd, output := k6(t, loadEnv(url, dir, map[string]string{"DURATION": "1m"}), closedLoop)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return server.initialized.Load() == 3 }, 30*time.Second, 10*time.Millisecond)
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait(), "k6 says that it was interrupted")
	assert.EqualValues(t, 3, server.deleted.Load(), output)
	assert.NotEmpty(t, requireWellKept(t, dir))
	assert.NotContains(t, output.String(), "panic")
}

// A server that never answers must not hold up the end of a run.
func TestHungServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := mcptest.Handler(&sdk.StreamableHTTPOptions{JSONResponse: true})
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost && calls.Add(1) > 2 {
			<-release
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(release)
	script := filepath.Join(t.TempDir(), "hung.js")
	require.NoError(t, os.WriteFile(script, []byte(strings.TrimSpace(`
		import { Client } from 'k6/x/mcp';
		export const options = {scenarios: {s: {executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '1s'}}};
		const client = new Client(__ENV.MCP_URL, {timeout: '1m'});
		export default function () { client.session().callTool('echo', {text: 'x'}) }`)), 0o600))
	dir := t.TempDir()
	cmd, output := k6(t, map[string]string{"MCP_URL": server.URL, "K6_MCP_HISTOGRAMS": dir}, script)
	begin := time.Now()
	require.NoError(t, cmd.Run(), output)
	assert.Less(t, time.Since(begin), 30*time.Second)
	calling := readSummary(t, dir)[histlog.Key{Scenario: "s", Method: "tools/call", Tool: "echo"}]
	assert.EqualValues(t, 1, calling.OK)
	assert.EqualValues(t, 1, calling.Interrupted)
	assert.Zero(t, calling.Failed)
}

func TestHistogramsDirectoryThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cmd, output := k6(t, map[string]string{"K6_MCP_HISTOGRAMS": file}, "smoke.test.js")
	require.Error(t, cmd.Run())
	assert.Contains(t, output.String(), "K6_MCP_HISTOGRAMS: mkdir")
}
