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
	"github.com/mcp-parity/mcp-parity/internal/published"
)

// SchemaVersion is the version of run.json. It changes when a reader of the old form would go wrong.
const SchemaVersion = 3

// States of a run.
const (
	Complete = "complete"
	// Partial runs were interrupted: the launches that were made are there, the others are not.
	Partial = "partial"
)

// Run is one execution of an experiment. results/schema/run.schema.json describes its JSON form.
type Run struct {
	SchemaVersion int `json:"schema_version"`
	// ID is the name of the run's folder: <YYYY-MM-DD>-<experiment>-<random>.
	ID string `json:"id"`
	// Status is Complete or Partial.
	Status     string    `json:"status"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	// ResumedAt is when the run was gone on with, once for each time that it was interrupted.
	ResumedAt []time.Time `json:"resumed_at,omitempty"`
	// Command is what the user typed.
	Command string `json:"command"`
	// Seed gives the order of the launches. It is below 2^53.
	Seed       uint64                `json:"seed"`
	Experiment experiment.Experiment `json:"experiment"`
	// Published is the table with which the figures are compared; absent when the experiment names none.
	Published   *published.Table `json:"published,omitempty"`
	Gate        Gate             `json:"gate"`
	Environment Environment      `json:"environment"`
	Budget      Budget           `json:"budget"`
	// Subjects are in the experiment's order.
	Subjects []Subject `json:"subjects"`
	// Upstream is absent when no workload calls the upstream service.
	Upstream *Upstream `json:"upstream,omitempty"`
	// Launches are in the order in which they were made.
	Launches []Launch `json:"launches"`
	// Cells are computed from the launches, one for each workload and subject of it, in the experiment's order.
	Cells []Cell `json:"cells"`
	// Noise is computed from the launches of the references that were made twice in a block, one for each figure of which there are any.
	Noise []Noise `json:"noise,omitempty"`
	// Judgements are computed for the published table's conclusions, for each workload that measured both servers of one.
	Judgements []Judgement `json:"judgements,omitempty"`
	// LoadShare is the share of the time from the first launch's start to the last one's end that was warm-up or measuring. The time in
	// which the run was interrupted does not count.
	LoadShare float64 `json:"load_share"`
	// Notes are what a reader must know about how this run was made.
	Notes []string `json:"notes,omitempty"`
}

// Gate is what was proven before the first launch: that the servers answer alike.
type Gate struct {
	// Vectors is the number of answers that were compared with the contract, of all subjects together; Known is how many of them had a
	// difference that contract/known-differences.yaml lists. There is none with another difference, or nothing would have been measured.
	Vectors int `json:"vectors"`
	Known   int `json:"known"`
	// Seed gave the random arguments.
	Seed uint64 `json:"seed"`
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
	// Virtualization is what the machine is a guest of; empty if it is none, or if that is not known.
	Virtualization string `json:"virtualization,omitempty"`
	// Cgroup is the version of the kernel's control groups, 1 or 2; 0 where there are none.
	Cgroup int `json:"cgroup,omitempty"`
	// Governor is the frequency governor of the CPUs; empty where it cannot be read, as in most virtual machines.
	Governor string `json:"governor,omitempty"`
	// SwapBytes is the size of the swap space.
	SwapBytes uint64 `json:"swap_bytes"`
	// LoadBefore is the load average of one minute before the first launch.
	LoadBefore float64 `json:"load_before"`
	// Go is the version of Go that built the harness and the load generator, K6 that of k6.
	Go string `json:"go"`
	K6 string `json:"k6"`
	// Backend is how servers were started: docker or process. Engine is the version of the container engine.
	Backend string `json:"backend"`
	Engine  string `json:"engine,omitempty"`
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
	// Image is the digest of the container image; empty for a process.
	Image string `json:"image,omitempty"`
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

// Launch is one fresh start of a server, its warm-up and its load. Number to Failure, the use of the server at its start and the
// readings of the generator's process are what the harness saw; the rest follows from the raw files in Folder: see stats.Observe.
type Launch struct {
	// Number is the position in the run, from 1; Block that of the block.
	Number   int    `json:"number"`
	Block    int    `json:"block"`
	Subject  string `json:"subject"`
	Workload string `json:"workload"`
	// Again marks a launch of the reference once more, which is for the noise floor only and enters no cell.
	Again bool `json:"again,omitempty"`
	// Folder holds the launch's raw files; relative to the run's folder, with slashes.
	Folder    string    `json:"folder"`
	StartedAt time.Time `json:"started_at"`
	// EndedAt is when the server had been stopped.
	EndedAt time.Time `json:"ended_at"`
	// ReadySeconds is the time from the start of the server, which is built, to its first answer on /healthz.
	ReadySeconds float64 `json:"ready_seconds"`
	// Runtime is the version of the language's runtime, as the server's /metrics tells it; empty if it does not.
	Runtime string `json:"runtime,omitempty"`
	// Failure is what kept the launch from ending as planned; empty if nothing did.
	Failure string `json:"failure,omitempty"`
	// Warmup is what was found in the seconds from the first call on; absent when there was no call.
	Warmup *Warmup `json:"warmup,omitempty"`
	// Window is the time in which calls were counted; absent when there was none. It begins and ends at whole seconds.
	Window *Window `json:"window,omitempty"`
	Counts Counts  `json:"counts"`
	// FirstError is what the load generator said of the first call that was not answered rightly; empty if all were.
	FirstError string `json:"first_error,omitempty"`
	// Operations are what was sent in the window, requests of the handshake too.
	Operations []Operation `json:"operations,omitempty"`
	// AskedPerSecond is the rate of iterations that was asked for; absent from a closed load.
	AskedPerSecond float64 `json:"asked_per_second,omitempty"`
	// Lag is how late iterations began; absent from a closed load.
	Lag *Lag `json:"lag,omitempty"`
	// Search are the rates that were tried, in this order; search only. The last one that was met was confirmed: the window is its.
	Search []Step `json:"search,omitempty"`
	// Limited says that no higher rate was missed because of the server, but because of the load generator, or none was tried: the server's
	// capacity is that rate or more.
	Limited   bool      `json:"limited,omitempty"`
	Server    Server    `json:"server"`
	Generator Generator `json:"generator"`
	Machine   Machine   `json:"machine"`
	// Invalid lists why no figure is taken from the launch; empty for a valid launch.
	Invalid []string `json:"invalid,omitempty"`
}

// Warmup is what the series of one-second rates says about when a server is warm.
type Warmup struct {
	// Seconds is the time from the first call to the window.
	Seconds float64 `json:"seconds"`
	// Class is how the series behaves: see the constants of package stats.
	Class string `json:"class"`
	// ChangeSeconds is where the last change of level was found, from the first call on; 0 when there was none.
	ChangeSeconds float64 `json:"change_seconds,omitempty"`
	// Drift is by how much the last third of the window differs from its first third: 0.05 is 5 % more.
	Drift float64 `json:"drift"`
}

// Window is the time in which calls were counted.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Seconds returns how long the window lasted.
func (w Window) Seconds() float64 { return w.End.Sub(w.Start).Seconds() }

// Counts are what happened. OK, Requests and Iterations count what ended well in the window, the others are those of the whole load; of a
// search, those of its warm-up and of the step with the window, but wrong answers of all steps. A call that the end of the load
// interrupted is a failed one.
type Counts struct {
	// OK are calls: the requests of the workload, without those of the handshake.
	OK int64 `json:"ok"`
	// Requests are those of the handshake too.
	Requests int64 `json:"requests"`
	// Iterations is OK over the calls of an iteration, or the number of sessions for a workload without calls.
	Iterations float64 `json:"iterations"`
	// Failed calls got no result: no connection, an HTTP error, a protocol error.
	Failed int64 `json:"failed"`
	// ToolFailed calls got a result with isError.
	ToolFailed int64 `json:"tool_failed"`
	// Wrong answers differ from what the contract says. They are looked for in a sample of all answers.
	Wrong int64 `json:"wrong"`
	// Dropped iterations were due, but all users were busy.
	Dropped int64 `json:"dropped"`
}

// Errors is the number of calls that were not answered rightly.
func (c Counts) Errors() int64 { return c.Failed + c.ToolFailed + c.Wrong }

// Operation are the requests of one method, and tool, in the window.
type Operation struct {
	// Method is a method of the protocol, or DELETE for the end of a session.
	Method string `json:"method"`
	Tool   string `json:"tool,omitempty"`
	OK     int64  `json:"ok"`
	// Histogram is the file with the latency histograms of each second; relative to the run's folder.
	Histogram string  `json:"histogram"`
	Latency   Latency `json:"latency"`
}

// IsCall reports whether the operation is a call of the workload rather than a part of the handshake.
func (o Operation) IsCall() bool {
	return o.Method == "tools/call" || o.Method == experiment.MethodListTools
}

// Name is the tool, or else the method.
func (o Operation) Name() string {
	if o.Tool != "" {
		return o.Tool
	}
	return o.Method
}

// Latency are milliseconds, from a histogram. Under an open load they count from the intended start of the iteration, otherwise from
// the sending of the request.
type Latency struct {
	MeanMS float64 `json:"mean_ms"`
	P50MS  float64 `json:"p50_ms"`
	P95MS  float64 `json:"p95_ms"`
	P99MS  float64 `json:"p99_ms"`
	MaxMS  float64 `json:"max_ms"`
}

// Lag is how late iterations began, in milliseconds after they were due.
type Lag struct {
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// Step is one rate that a search has tried.
type Step struct {
	// Folder holds the raw files; relative to the run's folder.
	Folder         string  `json:"folder"`
	AskedPerSecond float64 `json:"asked_per_second"`
	// AchievedPerSecond counts the iterations that ended in the step's window.
	AchievedPerSecond float64 `json:"achieved_per_second"`
	// LatencyMS is the percentile of the objective.
	LatencyMS float64 `json:"latency_ms"`
	Met       bool    `json:"met"`
	// Missed says why it was not met.
	Missed string `json:"missed,omitempty"`
	// GeneratorShare is the load generator's CPU time over that of its CPUs.
	GeneratorShare float64 `json:"generator_share"`
	// Confirming marks the steps that last as long as the load's duration.
	Confirming bool `json:"confirming,omitempty"`
}

// Server is what the server used, all its processes together.
type Server struct {
	// CPUSeconds is the CPU time used in the window, absent when it could not be read at both ends of the window.
	CPUSeconds *float64 `json:"cpu_seconds,omitempty"`
	// ThrottledSeconds is how long the kernel kept it from running in the window because of a quota; 0 without one.
	ThrottledSeconds float64 `json:"throttled_seconds,omitempty"`
	// MemoryIdleBytes is read once the server is ready, before the first call; MemoryEndBytes after the last one. MemoryMeanBytes is
	// the mean in the window.
	MemoryIdleBytes int64 `json:"memory_idle_bytes"`
	MemoryMeanBytes int64 `json:"memory_mean_bytes"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	MemoryEndBytes  int64 `json:"memory_end_bytes"`
}

// Generator is what the load generator used.
type Generator struct {
	// CPUSeconds and UpstreamCPUSeconds are used in the window; the upstream service runs on the same CPUs.
	CPUSeconds         float64 `json:"cpu_seconds"`
	UpstreamCPUSeconds float64 `json:"upstream_cpu_seconds"`
	// Share is CPUSeconds over the time of the generator's CPUs.
	Share    float64 `json:"share"`
	ExitCode int     `json:"exit_code"`
}

// Machine is what else the machine did in the window, as shares of the time of the budget's CPUs.
type Machine struct {
	// Other is the share that was used by neither the server, the load generator nor upstream: the system, and whatever else runs.
	Other float64 `json:"other"`
	// Stolen is the share that a hypervisor gave to others.
	Stolen float64 `json:"stolen"`
}

// Cell is one subject under one workload, over all its launches.
type Cell struct {
	Workload string `json:"workload"`
	Subject  string `json:"subject"`
	// Launches were made, Valid of them have figures.
	Launches int   `json:"launches"`
	Valid    int   `json:"valid"`
	Errors   int64 `json:"errors"`
	// Invalid lists why launches have no figures; each reason once.
	Invalid []string `json:"invalid,omitempty"`
	// Figures are absent when no launch is valid.
	Figures *Figures `json:"figures,omitempty"`
}

// Figure is a value over several launches: their median, and the bounds of its 95 % interval where there are launches enough for one.
type Figure struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// Figures are what a run is made for. Latencies are values of the merged histogram of all valid launches; their intervals are those of the
// launches' own values.
type Figures struct {
	// CallsPerSecond counts successful calls, IterationsPerSecond iterations, RequestsPerSecond HTTP requests of any kind. For a search,
	// these are the rates at the capacity.
	CallsPerSecond      Figure `json:"calls_per_second"`
	IterationsPerSecond Figure `json:"iterations_per_second"`
	RequestsPerSecond   Figure `json:"requests_per_second"`
	// Limited: see Launch.Limited, in any of the launches.
	Limited bool `json:"limited,omitempty"`
	// Ratio is the rate (of calls, or of iterations where there are none) over that of the reference; absent from the reference itself.
	Ratio *Ratio `json:"ratio,omitempty"`
	// P50MS, P95MS and P99MS are milliseconds, of all calls of the workload; of initialize where there are none.
	P50MS Figure `json:"p50_ms"`
	P95MS Figure `json:"p95_ms"`
	P99MS Figure `json:"p99_ms"`
	// RequestMeanMS is the mean over all HTTP requests.
	RequestMeanMS Figure `json:"request_mean_ms"`
	// CPUSecondsPer1000 is the server's CPU time for 1,000 calls, or iterations where there are none. CPUShare is its CPU time over the
	// length of the window: 1 is one CPU.
	CPUSecondsPer1000 Figure `json:"cpu_seconds_per_1000"`
	CPUShare          Figure `json:"cpu_share"`
	// Memory is in bytes.
	MemoryIdle Figure `json:"memory_idle_bytes"`
	MemoryMean Figure `json:"memory_mean_bytes"`
	MemoryPeak Figure `json:"memory_peak_bytes"`
	// GeneratorShare is the largest of the launches.
	GeneratorShare float64 `json:"generator_share"`
	// Operations are the workload's calls and the requests of the handshake.
	Operations []OperationFigures `json:"operations"`
}

// OperationFigures are the latencies of one operation, in milliseconds, as in Figures.
type OperationFigures struct {
	Method string `json:"method"`
	Tool   string `json:"tool,omitempty"`
	MeanMS Figure `json:"mean_ms"`
	P50MS  Figure `json:"p50_ms"`
	P95MS  Figure `json:"p95_ms"`
	P99MS  Figure `json:"p99_ms"`
	// MeanRatio is MeanMS over that of the reference; absent from the reference itself.
	MeanRatio *Ratio `json:"mean_ratio,omitempty"`
}

// Ratio is a figure over that of the reference: from the pairs of valid launches in the same block.
type Ratio struct {
	Value float64 `json:"value"`
	// Low and High are the bounds of the 95 % interval; absent with one pair.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Pairs is the number of blocks with two valid launches.
	Pairs int `json:"pairs"`
	// Same means that the two cannot be told apart: the interval reaches 1; or, without an interval, the difference is within the noise floor.
	Same bool `json:"same,omitempty"`
}

// Noise is what equal servers differ by in this run.
type Noise struct {
	// Figure is the name of a member of Figures; mean_ms stands for the means of operations.
	Figure string `json:"figure"`
	// Repeats is how many valid launches repeated an earlier one, of the same subject under the same workload.
	Repeats int `json:"repeats"`
	// Floor bounds the ratio of two equal launches: 0.06 means that up to 6 % more or less is no difference. See package stats.
	Floor float64 `json:"floor"`
}

// Floor returns the noise floor of a figure, or nil.
func (r *Run) Floor(figure string) *float64 {
	i := slices.IndexFunc(r.Noise, func(n Noise) bool { return n.Figure == figure })
	if i < 0 {
		return nil
	}
	return &r.Noise[i].Floor
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

// Outcomes of a Judgement.
const (
	// Holds: the interval of the measured ratio comes within a factor (see package stats) of the published ratio.
	Holds = "holds"
	// SmallerThanPublished and LargerThanPublished: the difference is there, on the same side, but not as large, or larger.
	SmallerThanPublished = "smaller"
	LargerThanPublished  = "larger"
	// NoDifference: the two cannot be told apart.
	NoDifference = "no_difference"
	// Reversed: the difference is on the other side.
	Reversed = "reversed"
)

// Judgement says what a run makes of a published conclusion.
type Judgement struct {
	Workload string `json:"workload"`
	// Conclusion is the index into Published.Conclusions.
	Conclusion int `json:"conclusion"`
	// Measured is the figure of the conclusion's server over that of the other.
	Measured Ratio  `json:"measured"`
	Outcome  string `json:"outcome"`
}
