package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// interval is a line of a histogram log: n calls of so many microseconds in a second.
func interval(t *testing.T, second, n, microseconds int64) string {
	t.Helper()
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	if err := h.RecordValues(microseconds, n); err != nil {
		t.Fatal(err)
	}
	h.SetStartTimeMs(second * 1000)
	h.SetEndTimeMs(second*1000 + 1000)
	var text bytes.Buffer
	if err := hdrhistogram.NewHistogramLogWriter(&text).OutputIntervalHistogram(h); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestLive(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "001-go-tools_list")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	add := func(name, text string) {
		t.Helper()
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = file.WriteString(text)
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := newLive(experiment.Workload{Calls: make([]experiment.Call, 1)})
	want := func(text string) {
		t.Helper()
		if got := l.String(); got != text {
			t.Errorf("got %q, wanted %q", got, text)
		}
	}
	l.enter("starting", "")
	want("starting")
	l.enter("loading", folder)
	want("loading")
	const at = 1_790_000_000
	head := "#[Histogram log format version 1.2]\n#[StartTime: 1790000000.0]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\"\n"
	add("open.initialize.hlog.part", head+interval(t, at, 5, 900))
	add("open.tools_list.hlog.part", head)
	want("loading")
	line := interval(t, at, 40, 2000)
	add("open.tools_list.hlog.part", line[:20])
	want("loading")
	add("open.tools_list.hlog.part", line[20:])
	want("loading: 40 calls/s, p99 2 ms")
	add("open.tools_call.x.hlog.part", head+interval(t, at-1, 7, 9000)+interval(t, at, 10, 5000))
	want("loading: 50 calls/s, p99 5 ms")
	add("open.tools_list.response.hlog.part", head+interval(t, at, 40, 30_000))
	add("open.tools_list.lag.hlog.part", head+interval(t, at, 40, 800_000))
	want("loading: 50 calls/s, p99 30 ms")
	add("open.tools_list.hlog.part", interval(t, at+1, 60, 1000)) // the other log is not so far yet
	want("loading: 60 calls/s, p99 1 ms")

	// Of a second that one log has reached, and another has not, nobody knows whether it is all there.
	w := experiment.Workload{Calls: make([]experiment.Call, 2), Load: experiment.Load{Shape: experiment.ShapeClosed, WarmupLimit: second, Duration: 2 * second}}
	closed := newLive(w)
	another := filepath.Join(folder, "closed")
	if err := os.Mkdir(another, 0o755); err != nil {
		t.Fatal(err)
	}
	closed.enter("loading", another)
	for i, step := range []struct {
		name   string
		second int64
		want   bool
	}{{"a", 0, false}, {"b", 0, false}, {"a", 1, false}, {"b", 1, false}, {"a", 2, false}, {"b", 2, true}} {
		head := head
		if step.second > 0 {
			head = ""
		}
		add("closed/closed.tools_call."+step.name+".hlog.part", head+interval(t, at+10+step.second, 20, 1000))
		_ = closed.String() // the display reads the same logs, and must not keep what is new from steady
		if got := closed.steady(w); got != step.want {
			t.Errorf("step %d: steady is %v, wanted %v", i, got, step.want)
		}
	}

	sessions := newLive(experiment.Workload{})
	sessions.enter("loading", folder)
	if got := sessions.String(); got != "loading: 5 sessions/s, p99 0.9 ms" {
		t.Errorf("without calls: got %q", got)
	}
}

func TestTimeLeft(t *testing.T) {
	minute := yamlfile.Duration(time.Minute)
	e := experiment.Experiment{Workloads: []experiment.Workload{
		{Name: "a", Load: experiment.Load{Shape: experiment.ShapeClosed, Duration: minute}},
		{Name: "b", Load: experiment.Load{Shape: experiment.ShapeClosed, Duration: 10 * minute}},
	}}
	plan := []experiment.Launch{{Workload: "a"}, {Workload: "a"}, {Workload: "b"}, {Workload: "a"}}
	start := time.Now()
	run := &result.Run{Experiment: e}
	if got, least := timeLeft(run, plan), 13*time.Minute; got < least || got > least+time.Minute {
		t.Errorf("at first: got %s", got)
	}
	run.Launches = []result.Launch{{Workload: "a", StartedAt: start, EndedAt: start.Add(2 * time.Minute)}}
	if got, least := timeLeft(run, plan), 14*time.Minute; got < least || got > least+time.Minute {
		t.Errorf("after a launch that took two minutes: got %s", got)
	}
	for d, want := range map[time.Duration]string{
		40 * time.Second: "less than a minute left", 100 * time.Second: "about 2 min left", 80 * time.Minute: "about 80 min left", 150 * time.Minute: "about 2.5 h left",
	} {
		if got := left(d); got != want {
			t.Errorf("%s: got %q, wanted %q", d, got, want)
		}
	}
}

func TestCheckConditions(t *testing.T) {
	make := func() *result.Run {
		return &result.Run{
			Seed: 1, ID: "x", Experiment: experiment.Experiment{Name: "tiny", Workloads: []experiment.Workload{{Name: "a"}}},
			Budget:      result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}},
			Environment: result.Environment{Commit: "abc", LoadBefore: 1},
		}
	}
	for _, test := range []struct {
		name   string
		change func(*result.Run)
		want   string
	}{
		{"nothing", func(*result.Run) {}, ""},
		{"another run", func(r *result.Run) { r.ID, r.Seed = "y", 2 }, ""},
		{"the load of the machine", func(r *result.Run) { r.Environment.LoadBefore = 2 }, ""},
		{"the commit", func(r *result.Run) { r.Environment.Commit = "def" }, `environment.commit was "abc", now it is "def"`},
		{"no commit", func(r *result.Run) { r.Environment.Commit = "" }, `environment.commit was "abc", now it is nothing`},
		{"the budget", func(r *result.Run) { r.Budget.ServerCPUs = []int{0, 1} }, `budget.server_cpus was [1], now it is [0,1]`},
		{"the experiment", func(r *result.Run) { r.Experiment.Workloads[0].Launches = 3 }, `experiment.workloads is not the same any more`},
		{
			"two things", func(r *result.Run) { r.Environment.CPUs, r.Environment.K6 = 4, "v9" },
			"environment.cpus was 0, now it is 4\nenvironment.k6 was \"\", now it is \"v9\"",
		},
	} {
		now := make()
		test.change(now)
		got := ""
		if err := CheckConditions(make(), now); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, wanted %q", test.name, got, test.want)
		}
	}
}

func TestK6Version(t *testing.T) {
	for output, want := range map[string]string{"k6 v2.2.0 (go1.26, linux/amd64)\\nExtensions:\\n": "v2.2.0", "nothing\\n": ""} {
		program := filepath.Join(t.TempDir(), "k6")
		if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '"+output+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := K6Version(t.Context(), program)
		if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%q: got %q, %v, wanted %q", output, got, err, want)
		}
	}
}
