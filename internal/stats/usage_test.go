package stats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

var t0 = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

func TestBetween(t *testing.T) {
	samples := []Sample{
		{At: at(0), CPU: 1 * time.Second},
		{At: at(1), CPU: 1 * time.Second},
		{At: at(2), CPU: 3 * time.Second},
		{At: at(4), CPU: 4 * time.Second},
	}
	cpu := func(s Sample) time.Duration { return s.CPU }
	for _, test := range []struct {
		name       string
		start, end float64
		want       time.Duration
	}{
		{"on readings", 0, 4, 3 * time.Second},
		{"between readings", 0.5, 3, 2500 * time.Millisecond},
		{"between the same two readings", 1.25, 1.75, time.Second},
		{"where nothing was used", 0, 1, 0},
	} {
		got, err := between(samples, result.Window{Start: at(test.start), End: at(test.end)}, cpu)
		if err != nil || got != test.want {
			t.Errorf("%s: got %v, %v, wanted %v", test.name, got, err, test.want)
		}
	}
	for _, test := range []struct {
		name       string
		samples    []Sample
		start, end float64
		want       string
	}{
		{"none", nil, 0, 1, "no reading"},
		{"starts before", samples, -0.5, 1, "first reading was 500ms too late"},
		{"ends after", samples, 0, 5, "last reading was 1s too early"},
	} {
		_, err := between(test.samples, result.Window{Start: at(test.start), End: at(test.end)}, cpu)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, wanted %q in it", test.name, err, test.want)
		}
	}
}

func TestReadings(t *testing.T) {
	dir := t.TempDir()
	usage := []Sample{
		{At: time.Unix(1, 0).UTC(), CPU: 5 * time.Microsecond, MemoryBytes: 7, PeakBytes: 8},
		{At: time.Unix(1, 250_001_000).UTC(), CPU: time.Second + 5*time.Microsecond, MemoryBytes: 6, PeakBytes: 9, Throttled: 3 * time.Microsecond},
	}
	machine := []MachineSample{
		{At: time.Unix(1, 0).UTC(), Generator: 1 * time.Second, Upstream: 2 * time.Second, Busy: 3 * time.Second, Stolen: 4 * time.Second},
		{At: time.Unix(2, 0).UTC(), Generator: 5 * time.Second, Upstream: 6 * time.Second, Busy: 7 * time.Second, Stolen: 8 * time.Second},
	}
	if err := WriteUsage(dir, usage); err != nil {
		t.Fatal(err)
	}
	if err := WriteMachine(dir, machine); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadUsage(dir); err != nil || !slices.Equal(got, usage) {
		t.Errorf("got %v, %v, wanted %v", got, err, usage)
	}
	if got, err := ReadMachine(dir); err != nil || !slices.Equal(got, machine) {
		t.Errorf("got %v, %v, wanted %v", got, err, machine)
	}
	const header = "unix_us,cpu_us,memory_bytes,memory_peak_bytes,throttled_us\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "wanted the header"},
		{"no reading", header, "a line for each reading"},
		{"another header", "unix_ms,cpu_us,memory_bytes,memory_peak_bytes,throttled_us\n1,2,3,4,5\n", "wanted the header"},
		{"the other file's header", machineHeader + "\n1,2,3,4,5\n", "wanted the header"},
		{"a column less", header + "1,2,3,4\n", "line 2: wrong number of fields"},
		{"not a number", header + "1,2,x,4,5\n", "line 2, memory_bytes: "},
		{"back in time", header + "2,2,3,4,5\n2,3,4,5,6\n", "line 3 is not later"},
	} {
		if err := os.WriteFile(filepath.Join(dir, UsageFile), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadUsage(dir); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "read usage.csv: ") {
			t.Errorf("%s: got %v, wanted %q in it", test.name, err, test.want)
		}
	}
}
