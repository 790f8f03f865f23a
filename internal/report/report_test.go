package report_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func pointer(x float64) *float64 { return &x }

// example has figures of all sizes, an invalid cell, a cell without a ratio and notes.
func example() *result.Run {
	const mib = 1 << 20
	return &result.Run{
		ID: "2026-10-01-quick-0a1b2c", Command: "parity run quick", Seed: 42,
		Experiment: experiment.Experiment{
			Title: "Two servers, one CPU each, ten users", Subjects: []string{"go", "python"}, Reference: "go", Launches: 1,
			Load: experiment.Load{Users: 10, Warmup: experiment.Duration(2 * time.Second), Duration: experiment.Duration(9 * time.Second)},
		},
		Environment: result.Environment{
			CPUModel: "Some CPU @ 2.50GHz", CPUs: 2, MemoryBytes: 24 << 30, OS: "linux", Kernel: "6.1.0", Backend: "process",
			Commit: "79c6eda", Dirty: true,
		},
		Budget: result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}, MemoryBytes: 1 << 30},
		Subjects: []result.Subject{
			{ID: "go", Language: result.Version{Name: "Go", Version: "1.26"}, SDK: result.Version{Name: "go-sdk", Version: "v1.8.0"}},
			{ID: "python", Language: result.Version{Name: "Python", Version: "3.13"}, SDK: result.Version{Name: "fastmcp", Version: "4.1.0"}},
		},
		Upstream: &result.Upstream{CapacityPerSecond: 11876, AskedPerSecond: 2411, FastestSubject: "go"},
		Launches: []result.Launch{
			{Subject: "go", Workload: "tools_list", Runtime: "1.26.8"},
			{Subject: "go", Workload: "fetch_external_data", Runtime: "1.26.8"},
			{Subject: "python", Workload: "fetch_external_data", FirstError: "/status: want 200, got 500"},
		},
		Cells: []result.Cell{
			{Workload: "tools_list", Subject: "go", Figures: &result.Figures{
				CallsPerSecond: 12345.6, Ratio: pointer(1), P50MS: 0.79912, P95MS: 1.2, P99MS: 9.999, CPUSecondsPer1000: 0.0812, MemoryIdleBytes: 11 * mib, MemoryPeakBytes: 1234 * mib,
			}},
			{Workload: "tools_list", Subject: "python", Figures: &result.Figures{
				CallsPerSecond: 999.6, Ratio: pointer(0.08097), P50MS: 10.04, P95MS: 123.4, P99MS: 1234.5, CPUSecondsPer1000: 1, MemoryIdleBytes: 101 * mib, MemoryPeakBytes: 102 * mib,
			}},
			{Workload: "fetch_external_data", Subject: "go", Errors: 4, Invalid: []string{"3 wrong answers", "1 failed call"}},
			{Workload: "fetch_external_data", Subject: "python", Figures: &result.Figures{
				CallsPerSecond: 50, P50MS: 20, P95MS: 30, P99MS: 40, CPUSecondsPer1000: 2.5, MemoryIdleBytes: 101 * mib, MemoryPeakBytes: 102 * mib,
			}},
		},
		Notes: []string{"There is one CPU only."},
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change.\ngot:\n%s\nwanted:\n%s", file, got, want)
	}
}

func TestText(t *testing.T)     { golden(t, "testdata/example.txt", report.Text(example())) }
func TestMarkdown(t *testing.T) { golden(t, "testdata/example.md", report.Markdown(example())) }

func TestExcerpt(t *testing.T) { golden(t, "testdata/example.excerpt.md", report.Excerpt(example())) }

func TestUpstreamThatNobodyCalled(t *testing.T) {
	if got := report.Upstream(result.Upstream{CapacityPerSecond: 9000}); !strings.Contains(got, "no valid launch called it") {
		t.Errorf("got %q", got)
	}
}
