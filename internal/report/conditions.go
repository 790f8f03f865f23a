package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// brief is what must stand beside the figures wherever they are shown, a sentence each.
func brief(run *result.Run) []string {
	lines := append(loads(run.Experiment, run.Seed), budget(run.Budget), machine(run.Environment), noise(run), generator(run))
	return append(lines, invalid(run)...)
}

// conditions says how the run was made, a fact on each line.
func conditions(run *result.Run) []string {
	lines := append(loads(run.Experiment, run.Seed), budget(run.Budget), machine(run.Environment))
	var subjects []string
	for _, s := range run.Subjects {
		subjects = append(subjects, fmt.Sprintf("%s = %s %s, %s %s", s.ID, s.Language.Name, runtimes(run, s), s.SDK.Name, s.SDK.Version))
	}
	lines = append(lines, "Servers: "+strings.Join(subjects, "; ")+".", Equality(run.Gate), noise(run), generator(run))
	if run.Upstream != nil {
		lines = append(lines, Upstream(*run.Upstream))
	}
	if text := warmups(run); text != "" {
		lines = append(lines, text)
	}
	lines = append(lines, share(run))
	lines = append(lines, invalid(run)...)
	for _, l := range run.Launches {
		if l.FirstError != "" {
			lines = append(lines, fmt.Sprintf("First error of launch %d, %s under %s: %s", l.Number, l.Subject, l.Workload, l.FirstError))
		}
	}
	lines = append(lines, run.Notes...)
	return append(lines, fmt.Sprintf("Run: %s, made by `%s`%s.", run.ID, run.Command, commit(run.Environment)))
}

// state says what the run is not: whole, or of full length.
func state(run *result.Run) []string {
	var lines []string
	if run.Status == result.Partial {
		lines = append(lines, fmt.Sprintf("INTERRUPTED: %d of %s.", len(run.Launches), english.Plural(len(run.Experiment.Plan(run.Seed)), "launch", "launches")))
	}
	if scale := run.Experiment.Scale; scale != 0 && scale != 1 {
		lines = append(lines, fmt.Sprintf("Durations are shortened to %s %% of the experiment's, or to the least that can be measured.", number(100*scale)))
	}
	return lines
}

// loads says what the load was, a sentence for each kind.
func loads(e experiment.Experiment, seed uint64) []string {
	var kinds []string
	names := map[string][]string{}
	for _, w := range e.Workloads {
		kind := load(w)
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], w.Name)
	}
	var lines []string
	for _, kind := range kinds {
		of := ""
		if len(kinds) > 1 {
			of = " of " + english.OxfordWordSeries(names[kind], "and")
		}
		lines = append(lines, "Load"+of+": "+kind+".")
	}
	last := &lines[len(lines)-1]
	*last = strings.TrimSuffix(*last, ".") + fmt.Sprintf("; order from seed %d.", seed)
	if len(e.Warmups) > 0 {
		var own []string
		for _, id := range e.Subjects { // in the order of the tables
			if warmup, ok := e.Warmups[id]; ok {
				own = append(own, fmt.Sprintf("%s %s", id, seconds(warmup)))
			}
		}
		lines = append(lines, "Warm-up of servers that need more: at least "+english.WordSeries(own, "and")+".")
	}
	return lines
}

// load describes the load of a workload.
func load(w experiment.Workload) string {
	users := english.Plural(w.Load.Users, "user", "")
	var parts []string
	switch w.Load.Shape {
	case experiment.ShapeClosed:
		text := "closed loop, " + users
		if w.Load.Ramp > 0 {
			text += " who start over " + seconds(w.Load.Ramp)
		}
		parts = append(parts, text)
		if w.Load.Sleep > 0 {
			parts = append(parts, "a pause of "+seconds(w.Load.Sleep)+" after each iteration")
		}
	case experiment.ShapeOpen:
		parts = append(parts, fmt.Sprintf("open loop, %d iterations/s by up to %s", w.Load.Rate, users))
	case experiment.ShapeSearch:
		parts = append(parts, fmt.Sprintf("open loop by up to %s, the highest rate with %s looked for, each rate tried for %s",
			users, objective(*w.Load.Objective), seconds(w.Load.Objective.Step)))
	}
	switch {
	case w.Sessions == experiment.SessionsPerUser:
		parts = append(parts, "one session each")
	case len(w.Calls) > 0:
		parts = append(parts, "a session for every call")
	default:
		parts = append(parts, "sessions opened and closed without a call")
	}
	parts = append(parts, fmt.Sprintf("MCP %s, at least %s of warm-up, then %s measured", w.Revision, seconds(w.Load.Warmup), seconds(w.Load.Duration)))
	return strings.Join(parts, ", ") + "; " + english.Plural(w.Launches, "fresh start", "") + " of each server"
}

func budget(b result.Budget) string {
	memory := ""
	if b.MemoryBytes != 0 {
		memory = " with " + humanize.IBytes(uint64(b.MemoryBytes))
	}
	return fmt.Sprintf("Budget: server on CPU %s%s, load generator and upstream on CPU %s.", list(b.ServerCPUs), memory, list(b.GeneratorCPUs))
}

func machine(e result.Environment) string {
	return fmt.Sprintf("Machine: %s, %s, %s of memory, %s %s, %s backend.",
		e.CPUModel, english.Plural(e.CPUs, "CPU", ""), humanize.IBytes(e.MemoryBytes), e.OS, e.Kernel, e.Backend)
}

// runtimes lists the versions of the runtime that the subject's launches had: one, unless something was changed during the run.
func runtimes(run *result.Run, s result.Subject) string {
	var versions []string
	for _, l := range run.Launches {
		if l.Subject == s.ID && l.Runtime != "" && !slices.Contains(versions, l.Runtime) {
			versions = append(versions, l.Runtime)
		}
	}
	if len(versions) == 0 {
		return s.Language.Version + " or newer"
	}
	return strings.Join(versions, " and ")
}

// Equality says what was proven before the first launch.
func Equality(g result.Gate) string {
	text := fmt.Sprintf("Equality: before the first launch %s as the contract says", english.Plural(g.Vectors, "answer was", "answers were"))
	if g.Known > 0 {
		text += fmt.Sprintf(", %d of them but for a difference that contract/known-differences.yaml lists", g.Known)
	}
	return text + fmt.Sprintf("; random arguments from seed %d.", g.Seed)
}

// figureNames are the names of figures in tables, by their names in run.json.
var figureNames = map[string]string{
	"calls_per_second": "calls/s", "iterations_per_second": "iterations/s", "requests_per_second": "requests/s",
	"p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99", "request_mean_ms": "mean latency",
	"cpu_seconds_per_1000": "CPU s / 1,000", "cpu_share": "CPU",
	"mean_ms":           "the mean of an operation",
	"memory_idle_bytes": "idle memory", "memory_mean_bytes": "mean memory", "memory_peak_bytes": "peak memory",
}

func figureName(name string) string {
	return cmp.Or(figureNames[name], name)
}

// noise says what equal servers differ by.
func noise(run *result.Run) string {
	if len(run.Noise) == 0 {
		return "Noise floor: not known, because it takes two valid launches of one server under one workload."
	}
	var floors []string // each once
	figures := map[string][]string{}
	fewest, most := math.MaxInt, 0
	for _, n := range run.Noise {
		floor := percent(n.Floor)
		if figures[floor] == nil {
			floors = append(floors, floor)
		}
		figures[floor] = append(figures[floor], figureName(n.Figure))
		fewest, most = min(fewest, n.Repeats), max(most, n.Repeats)
	}
	for i, floor := range floors {
		floors[i] = floor + " in " + english.WordSeries(figures[floor], "and")
	}
	repeats := strconv.Itoa(fewest)
	if most > fewest {
		repeats += " to " + strconv.Itoa(most)
	}
	return fmt.Sprintf("Noise floor: two launches of one server differ by up to %s (from %s %s that repeated others); a ratio of two launches within it is marked ~.",
		strings.Join(floors, "; "), repeats, english.PluralWord(most, "launch", "launches"))
}

// generator says how busy the load generator was at most.
func generator(run *result.Run) string {
	l := busiest(run)
	if l == nil {
		return "Load generator: no valid launch."
	}
	return fmt.Sprintf("Load generator: used at most %s of its CPUs (%s under %s).", percent(l.Generator.Share), l.Subject, l.Workload)
}

// busiest returns the valid launch with the busiest load generator, or nil.
func busiest(run *result.Run) *result.Launch {
	var all []result.Launch
	for _, l := range run.Launches {
		if len(l.Invalid) == 0 {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil
	}
	most := slices.MaxFunc(all, func(a, b result.Launch) int { return cmp.Compare(a.Generator.Share, b.Generator.Share) })
	return &most
}

// Upstream says how far the upstream service was from its limit.
func Upstream(u result.Upstream) string {
	if u.FastestSubject == "" {
		return fmt.Sprintf("Upstream: serves %s requests/s; no valid launch called it.", significant(u.CapacityPerSecond))
	}
	return fmt.Sprintf("Upstream: serves %s requests/s, %s times the %s that %s, the fastest, asked of it.", significant(u.CapacityPerSecond),
		significant(u.CapacityPerSecond/u.AskedPerSecond), significant(u.AskedPerSecond), u.FastestSubject)
}

// warmups says how long the warm-up of each subject was, or "".
func warmups(run *result.Run) string {
	var found []string
	for _, s := range run.Experiment.Subjects {
		shortest, longest := math.Inf(1), 0.0
		for _, l := range run.Launches {
			if l.Subject == s && l.Warmup != nil && len(l.Invalid) == 0 {
				shortest, longest = min(shortest, l.Warmup.Seconds), max(longest, l.Warmup.Seconds)
			}
		}
		switch {
		case longest == 0:
		case longest-shortest < 0.5:
			found = append(found, fmt.Sprintf("%s %.0f s", s, longest))
		default:
			found = append(found, fmt.Sprintf("%s %.0f to %.0f s", s, shortest, longest))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "Warm-up, from the first call to the window: " + strings.Join(found, ", ") + "."
}

// share says how much of the time was load.
func share(run *result.Run) string {
	return fmt.Sprintf("Time: %s from the first start to the last stop was warm-up or measuring.", percent(run.LoadShare))
}

// invalid names the launches of which no figure is taken, and why.
func invalid(run *result.Run) []string {
	var lines []string
	for _, l := range run.Launches {
		if len(l.Invalid) > 0 {
			lines = append(lines, fmt.Sprintf("Invalid: launch %d, %s under %s: %s.", l.Number, l.Subject, l.Workload, strings.Join(l.Invalid, "; ")))
		}
	}
	return lines
}

func commit(e result.Environment) string {
	switch {
	case e.Commit == "":
		return ""
	case e.Dirty:
		return " at commit " + e.Commit + " with local changes"
	default:
		return " at commit " + e.Commit
	}
}
