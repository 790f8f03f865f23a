package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/stats/statstest"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

var start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// measured returns a run with a workload of each kind, all of whose figures follow from raw files that are written by hand, and its folder.
// Of the servers, go is fast, java warms up for some seconds, python is slow, and one launch of it has no server.
func measured(t testing.TB) (*result.Run, string) {
	t.Helper()
	fibonacci := experiment.Call{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": json.Number("10")}}
	list := experiment.Call{Method: experiment.MethodListTools}
	load := experiment.Load{Shape: experiment.ShapeClosed, Users: 10, Warmup: duration(4 * time.Second), Duration: duration(14 * time.Second)}
	search := experiment.Load{
		Shape: experiment.ShapeSearch, Users: 50, Warmup: duration(4 * time.Second), Duration: duration(12 * time.Second),
		Objective: &experiment.Objective{Percentile: 99, Latency: duration(50 * time.Millisecond), Step: duration(4 * time.Second)},
	}
	subjects := []string{"java", "go", "python/stateful"}
	workload := func(name string, launches int, load experiment.Load, sessions string, calls ...experiment.Call) experiment.Workload {
		return experiment.Workload{
			Name: name, Subjects: subjects, Reference: "java", Launches: launches, Load: load, Revision: "2025-11-25", Sessions: sessions, Calls: calls,
		}
	}
	run := &result.Run{
		SchemaVersion: result.SchemaVersion, ID: "2026-10-01-kinds-0a1b2c", Status: result.Complete, StartedAt: start, Command: "parity run kinds --scale 0.5", Seed: 7,
		Experiment: experiment.Experiment{
			Name: "kinds", Title: "A workload of each kind", Published: "theirs-v1", Scale: 0.5, Subjects: subjects,
			Workloads: []experiment.Workload{
				workload("calculate_fibonacci", 6, load, experiment.SessionsPerUser, fibonacci),
				workload("mixed", 2, load, experiment.SessionsPerCall, fibonacci, list),
				workload("session", 2, load, experiment.SessionsPerCall),
				workload("capacity", 1, search, experiment.SessionsPerUser, fibonacci),
			},
		},
		Gate: result.Gate{Vectors: 501, Known: 4, Seed: 11},
		Environment: result.Environment{
			CPUModel: "Some CPU", CPUs: 2, MemoryBytes: 8 << 30, OS: "linux", Kernel: "6.1", Arch: "amd64", Virtualization: "kvm", Cgroup: 2, Go: "go1.26.8", K6: "v2.2.0",
			Backend: "docker", Engine: "20.10", Commit: "79c6eda079c6eda079c6eda079c6eda079c6eda0", Dirty: true, LoadBefore: 0.07,
		},
		Budget: result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}, MemoryBytes: 1 << 30},
		Published: &published.Table{
			Name: "theirs-v1", Title: "a table of theirs", Source: "Somebody, 2026", Method: "Ten users.", Caveats: []string{"It is said to be fifty users."},
			Servers: []published.Server{
				{Server: "java", Title: "Java", MeanMS: 0.84, RequestsPerSecond: 1624, CPUPercent: 28.8, MemoryMB: 226},
				{Server: "go", Title: "Go", MeanMS: 0.86, RequestsPerSecond: 1624, CPUPercent: 31.8, MemoryMB: 18},
				{Server: "node", Title: "Node.js", MeanMS: 10.66, RequestsPerSecond: 559, CPUPercent: 98.7, MemoryMB: 110},
				{Server: "python", Title: "Python", MeanMS: 26.45, RequestsPerSecond: 292, CPUPercent: 93.9, MemoryMB: 98},
			},
			Operations: []published.Operation{
				{Title: "calculate_fibonacci", Tool: "calculate_fibonacci", MeanMS: map[string]float64{"java": 0.37, "go": 0.39, "node": 7.11, "python": 30.83}},
				{Title: "tools/list", Method: experiment.MethodListTools, MeanMS: map[string]float64{"java": 0.31, "go": 0.72, "node": 7.56, "python": 28.88}},
			},
			Conclusions: []published.Conclusion{
				{Text: "Python takes 93 times as long for tools/list as Java", Figure: published.MeanMS, Method: experiment.MethodListTools, Server: "python", Against: "java", Ratio: 93.2},
				{Text: "Java and Go answer equally fast", Figure: published.MeanMS, Server: "go", Against: "java", Ratio: 1.02},
				{Text: "Go needs a twelfth of Java's memory", Figure: published.MemoryMB, Server: "go", Against: "java", Ratio: 0.0796},
				{Text: "Node.js is slower than Java", Figure: published.MeanMS, Server: "node", Against: "java", Ratio: 12.7},
			},
		},
		Notes: []string{`<script>alert("&")</script>`},
	}
	for _, s := range subjects {
		run.Subjects = append(run.Subjects, result.Subject{
			ID: s, Title: "The server " + s, Language: result.Version{Name: s, Version: "1"}, SDK: result.Version{Name: "sdk", Version: "2"}, Image: "sha256:0123456789ab",
		})
	}
	dir := t.TempDir()
	at := start.Add(10 * time.Second)
	for _, p := range run.Experiment.Plan(run.Seed) {
		w := run.Experiment.Workload(p.Workload)
		l := result.Launch{
			Number: p.Number, Block: p.Block, Subject: p.Subject, Workload: p.Workload, Again: p.Again, StartedAt: at, ReadySeconds: 0.3, Runtime: "1.2.3",
			Folder: fmt.Sprintf("launches/%03d", p.Number),
		}
		if p.Subject == "python/stateful" && p.Workload == "mixed" && p.Number%2 == 0 {
			l.Failure = "the server did not start: it exited with 2"
			l.EndedAt = at.Add(2 * time.Second)
		} else {
			l.EndedAt = writeLaunch(t, dir, w, &l).Add(time.Second)
		}
		if err := stats.Observe(w, run.Budget, dir, &l); err != nil {
			t.Fatalf("launch %d, %s under %s: %v", l.Number, l.Subject, l.Workload, err)
		}
		at = l.EndedAt.Add(500 * time.Millisecond)
		run.Launches = append(run.Launches, l)
	}
	run.FinishedAt = at
	if err := stats.Summarise(run, dir); err != nil {
		t.Fatal(err)
	}
	return run, dir
}

// speed is how many calls a subject answers in a second once it is warm, and how much memory it has.
func speed(subject string, number int) (perSecond float64, memory int64) {
	noise := 1 + 0.01*math.Sin(float64(7*number))
	switch subject {
	case "go":
		return 400 * noise, 20 * mib
	case "java":
		return 300 * noise, 200 * mib
	default:
		return 60 * noise, 90 * mib
	}
}

// writeLaunch writes the raw files of a launch and adds the rates that a search has tried. It returns when the load ended.
func writeLaunch(t testing.TB, dir string, w experiment.Workload, l *result.Launch) time.Time {
	t.Helper()
	perSecond, memory := speed(l.Subject, l.Number)
	folder := filepath.Join(dir, l.Folder)
	begin := l.StartedAt.Add(1300 * time.Millisecond)
	end := begin.Add(time.Duration(w.Load.Warmup + w.Load.Duration + yamlfile.Duration(time.Second)))
	warming := func(second int) float64 {
		if l.Subject == "java" && second < 6 {
			return perSecond * float64(4+second) / 12
		}
		return perSecond
	}
	latency := 10_000 / perSecond // milliseconds of ten users
	if w.Load.Shape == experiment.ShapeSearch {
		end = begin.Add(5 * time.Second)
		writeLoad(t, filepath.Join(folder, stats.WarmupFolder), w, begin, end, warming, latency, false)
		lower, upper := perSecond/4, 0.0
		for i := range 9 {
			asked := lower
			switch {
			case i == 8:
			case upper > 0:
				asked = math.Sqrt(lower * upper)
			case i > 0:
				asked = 2 * lower
			}
			asked = math.Round(asked)
			step := result.Step{Folder: path.Join(l.Folder, fmt.Sprintf("steps/%02d-r%.0f", i+1, asked)), AskedPerSecond: asked, Confirming: i == 8}
			begin = end.Add(400 * time.Millisecond)
			end = begin.Add(5 * time.Second)
			if step.Confirming {
				end = begin.Add(14 * time.Second)
			}
			// Latency grows without bound as the rate comes near the speed; beyond it the server falls behind.
			wait := min(900, 3/(1-min(0.999, asked/perSecond)))
			writeLoad(t, filepath.Join(dir, step.Folder), w, begin, end, func(int) float64 { return min(asked, perSecond) }, wait, true)
			l.Search = append(l.Search, step)
			if wait*2.9 < 50 && asked < perSecond { // as p99 is 2.8 times as much
				lower = asked
			} else {
				upper = asked
			}
		}
	} else {
		writeLoad(t, folder, w, begin, end, warming, latency, false)
	}
	statstest.Use{Server: 0.9, Generator: 0.3, Upstream: 0.1, Other: 0.1}.Write(t, folder, l.StartedAt.Add(time.Second), end.Sub(l.StartedAt), memory)
	return end
}

// writeLoad writes what k6 leaves behind: rate is the number of calls in each second, latency about the median in milliseconds.
func writeLoad(t testing.TB, folder string, w experiment.Workload, begin, end time.Time, rate func(second int) float64, latency float64, open bool) {
	t.Helper()
	load := statstest.Load{Start: begin, Length: end.Sub(begin)}
	add := func(method, tool string, share float64, first bool) {
		durations := func(second int) []int64 {
			whole := begin.Truncate(time.Second).Add(time.Duration(second) * time.Second)
			part := min(1, end.Sub(whole).Seconds(), whole.Add(time.Second).Sub(begin).Seconds())
			micros := make([]int64, int(math.Round(share*rate(second)*part)))
			for i := range micros {
				x := (float64(i) + 0.5) / float64(len(micros))
				micros[i] = int64(1000 * latency * (0.8 + 0.02*x/(1-x))) // with a tail
			}
			return micros
		}
		s := statstest.Series{Series: stats.Series{Method: method, Tool: tool}, Durations: durations}
		if open && first {
			s.Responses, s.Lags = durations, func(second int) []int64 { return make([]int64, len(durations(second))) }
		}
		load.Series = append(load.Series, s)
	}
	for i, c := range w.Calls {
		method := c.Method
		if c.Tool != "" {
			method = "tools/call"
		}
		add(method, c.Tool, 1/float64(len(w.Calls)), i == 0)
	}
	if w.Sessions == experiment.SessionsPerCall {
		for _, method := range []string{"initialize", "notifications/initialized", "DELETE"} {
			add(method, "", 1, false)
		}
	}
	load.Write(t, folder)
}

func write(t testing.TB, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
