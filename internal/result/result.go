// Package result is what a run leaves behind: run.json and the folder around it. A run is immutable; its folder appears whole
// or not at all.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
)

// SchemaVersion is the version of run.json. It changes when a reader of the old form would go wrong.
const SchemaVersion = 1

// Run is one execution of an experiment. results/schema/run.schema.json describes its JSON form.
type Run struct {
	SchemaVersion int `json:"schema_version"`
	// ID is the name of the run's folder: <YYYY-MM-DD>-<experiment>-<random>.
	ID         string    `json:"id"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	// Command is what the user typed.
	Command string `json:"command"`
	// Seed gives the order of the launches. It is below 2^53.
	Seed        uint64                `json:"seed"`
	Experiment  experiment.Experiment `json:"experiment"`
	Environment Environment           `json:"environment"`
	Budget      Budget                `json:"budget"`
	// Subjects are in the experiment's order.
	Subjects []Subject `json:"subjects"`
	// Upstream is absent when no workload calls the upstream service.
	Upstream *Upstream `json:"upstream,omitempty"`
	// Launches are in the order in which they were made.
	Launches []Launch `json:"launches"`
	// Cells are computed from the launches, one for each workload and subject, in the experiment's order.
	Cells []Cell `json:"cells"`
	// Notes are what a reader must know about how this run was made.
	Notes []string `json:"notes,omitempty"`
}

// Environment is the machine and the software that made the run.
type Environment struct {
	CPUModel string `json:"cpu_model"`
	// CPUs is the number of logical CPUs.
	CPUs        int    `json:"cpus"`
	MemoryBytes uint64 `json:"memory_bytes"`
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	// Go is the version of Go that built the harness and the load generator.
	Go string `json:"go"`
	// Backend is how servers were started: docker or process.
	Backend string `json:"backend"`
	// Commit is the git commit of the tree; empty outside a git checkout. Dirty means that files differed from it.
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

// Budget is what each server and the load generator may use.
type Budget struct {
	ServerCPUs []int `json:"server_cpus"`
	// GeneratorCPUs are those of the load generator and of the upstream service.
	GeneratorCPUs []int `json:"generator_cpus"`
	// MemoryBytes is the limit of one server; 0 where none is enforced.
	MemoryBytes int64 `json:"memory_bytes"`
}

// Subject is a server, or a variant of one, as it was measured.
type Subject struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Language has the lowest version that will do; Launch.Runtime is what ran.
	Language Version `json:"language"`
	SDK      Version `json:"sdk"`
}

// Version names a piece of software and its version.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Upstream compares what the upstream service can serve with what the fastest server asked of it in the same run.
type Upstream struct {
	CapacityPerSecond float64 `json:"capacity_per_second"`
	AskedPerSecond    float64 `json:"asked_per_second"`
	// FastestSubject is the subject that asked it; empty when no launch that calls upstream is valid.
	FastestSubject string `json:"fastest_subject,omitempty"`
}

// Launch is one fresh start of a server, its warm-up and its load. Members other than Invalid are what was observed.
type Launch struct {
	// Number is the position in the run, from 1.
	Number   int    `json:"number"`
	Subject  string `json:"subject"`
	Workload string `json:"workload"`
	// Folder holds the launch's raw files; relative to the run's folder, with slashes.
	Folder    string    `json:"folder"`
	StartedAt time.Time `json:"started_at"`
	// Runtime is the version of the language's runtime, as the server's /metrics tells it; empty if it does not.
	Runtime string `json:"runtime,omitempty"`
	// Failure is what kept the launch from ending as planned; empty if nothing did.
	Failure string `json:"failure,omitempty"`
	// Window is the time in which calls were counted; absent when there was none.
	Window *Window `json:"window,omitempty"`
	Counts Counts  `json:"counts"`
	// FirstError is what the load generator said of the first call that was not answered rightly; empty if all were.
	FirstError string `json:"first_error,omitempty"`
	// Histogram is the file with the latency histogram of the successful calls of the window; relative to the run's folder, empty if
	// there were none.
	Histogram string    `json:"histogram,omitempty"`
	Server    Server    `json:"server"`
	Generator Generator `json:"generator"`
	// Invalid lists why no figure is taken from the launch; empty for a valid launch.
	Invalid []string `json:"invalid,omitempty"`
}

// CallsPerSecond is the rate of successful calls in the window; 0 without a window.
func (l Launch) CallsPerSecond() float64 {
	if l.Window == nil {
		return 0
	}
	return float64(l.Counts.OK) / l.Window.Seconds()
}

// Window is the time in which calls were counted.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Seconds returns how long the window lasted.
func (w Window) Seconds() float64 { return w.End.Sub(w.Start).Seconds() }

// Counts are calls by how they ended. OK counts those that were started in the window, the others those of the warm-up and of
// making sessions too. A call that the end of the load interrupted is not counted.
type Counts struct {
	OK int64 `json:"ok"`
	// Failed calls got no result: no connection, an HTTP error, a protocol error.
	Failed int64 `json:"failed"`
	// ToolFailed calls got a result with isError.
	ToolFailed int64 `json:"tool_failed"`
	// Wrong answers differ from what the contract says. They are looked for in a sample of all answers.
	Wrong int64 `json:"wrong"`
}

// Errors is the number of calls that were not answered rightly.
func (c Counts) Errors() int64 { return c.Failed + c.ToolFailed + c.Wrong }

// Server is what the server used, all its processes together.
type Server struct {
	// CPUSeconds is the CPU time used in the window, absent when it could not be read at both ends of the window.
	CPUSeconds *float64 `json:"cpu_seconds,omitempty"`
	// MemoryIdleBytes is read once the server is ready, before the first call; MemoryEndBytes after the last one.
	MemoryIdleBytes int64 `json:"memory_idle_bytes"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	MemoryEndBytes  int64 `json:"memory_end_bytes"`
}

// Generator is what the load generator used from its start to its end.
type Generator struct {
	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
	ExitCode    int     `json:"exit_code"`
}

// Cell is one subject under one workload, over all its launches.
type Cell struct {
	Workload string `json:"workload"`
	Subject  string `json:"subject"`
	Launches int    `json:"launches"`
	Errors   int64  `json:"errors"`
	// Invalid lists why there are no figures; each reason once.
	Invalid []string `json:"invalid,omitempty"`
	// Figures are absent from an invalid cell.
	Figures *Figures `json:"figures,omitempty"`
}

// Figures are what a run is made for.
type Figures struct {
	// CallsPerSecond counts successful calls: the median over launches.
	CallsPerSecond float64 `json:"calls_per_second"`
	// Ratio is CallsPerSecond over that of the reference; absent when the reference's cell is invalid.
	Ratio *float64 `json:"ratio,omitempty"`
	// P50MS, P95MS and P99MS are milliseconds, from the merged histogram of all launches.
	P50MS float64 `json:"p50_ms"`
	P95MS float64 `json:"p95_ms"`
	P99MS float64 `json:"p99_ms"`
	// CPUSecondsPer1000 is the server's CPU time for 1,000 calls: the median over launches.
	CPUSecondsPer1000 float64 `json:"cpu_seconds_per_1000"`
	// MemoryIdleBytes is the median over launches, MemoryPeakBytes the maximum.
	MemoryIdleBytes int64 `json:"memory_idle_bytes"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
}

// Cell returns the cell of a workload and subject, or nil.
func (r *Run) Cell(workload, subject string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Workload == workload && c.Subject == subject })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// WriteJSON writes the run as it stands in run.json.
func (r *Run) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// ReadJSON reads what WriteJSON wrote. The error is for text that is not a run of this SchemaVersion.
func ReadJSON(r io.Reader) (*Run, error) {
	d := json.NewDecoder(r)
	d.UseNumber() // arguments of workloads keep every digit
	var run Run
	if err := d.Decode(&run); err != nil {
		return nil, err
	}
	if run.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("schema_version is %d, wanted %d: read it with the release of mcp-parity that made it", run.SchemaVersion, SchemaVersion)
	}
	return &run, nil
}

// Read reads run.json of the run in folder.
func Read(folder string) (*Run, error) {
	file, err := os.Open(filepath.Join(folder, RunFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NotARun(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	defer file.Close()
	run, err := ReadJSON(file)
	if err != nil {
		return nil, fmt.Errorf("read the run: %s: %w", file.Name(), err)
	}
	return run, nil
}

// NotARun is the error for a folder without run.json.
func NotARun(folder string) error {
	return fmt.Errorf("%s is not the folder of a run, because it has no %s: name one as results/<run>", folder, RunFile)
}
