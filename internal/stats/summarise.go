package stats

import (
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Summarise judges every launch of the run, in dir, and fills in all that follows from the launches: Launch.Invalid, what was asked of
// upstream, Cells, Noise, Judgements and LoadShare. The launches have been observed. The error is for a histogram of a valid launch
// that cannot be read.
func Summarise(run *result.Run, dir string) error {
	for i := range run.Launches {
		l := &run.Launches[i]
		l.Invalid = Judge(run.Experiment.WorkloadOf(l.Subject, l.Workload), *l)
	}
	if run.Upstream != nil {
		judgeUpstream(run)
	}
	own := map[int][]float64{} // each valid launch's percentiles
	run.Cells = nil
	for _, w := range run.Experiment.Workloads {
		for _, s := range w.Subjects {
			c, err := cellOf(run, dir, w, s, own)
			if err != nil {
				return err
			}
			run.Cells = append(run.Cells, c)
		}
	}
	for _, l := range run.Launches {
		if l.Again && len(l.Invalid) == 0 {
			read, err := readLatencies(run.Experiment.Workload(l.Workload), l, dir)
			if err != nil {
				return err
			}
			own[l.Number] = read.percentiles()
		}
	}
	run.Noise = noiseOf(run, own)
	for i := range run.Cells {
		c := &run.Cells[i]
		if reference := run.Experiment.Workload(c.Workload).Reference; c.Figures != nil && c.Subject != reference {
			relate(run, c, pairs(run, c.Workload, c.Subject, reference))
		}
	}
	run.Judgements = judgementsOf(run)
	run.LoadShare = loadShare(run, dir)
	return nil
}

// judgeUpstream compares what the upstream service can serve with what was asked of it.
func judgeUpstream(run *result.Run) {
	u := run.Upstream
	u.AskedPerSecond, u.FastestSubject = 0, ""
	for _, l := range run.Launches {
		if len(l.Invalid) > 0 {
			continue
		}
		for _, o := range l.Operations {
			if asked := float64(o.OK) / l.Window.Seconds(); o.Tool == ToolCallingUpstream && asked > u.AskedPerSecond {
				u.AskedPerSecond, u.FastestSubject = asked, l.Subject
			}
		}
	}
	reason := upstreamInvalid(*u)
	for i := range run.Launches {
		if l := &run.Launches[i]; reason != "" && run.Experiment.Workload(l.Workload).CallsTool(ToolCallingUpstream) {
			l.Invalid = append(l.Invalid, reason)
		}
	}
}

// cellOf makes the cell of a workload and subject, without its ratios, and notes its launches' own percentiles.
func cellOf(run *result.Run, dir string, w experiment.Workload, subject string, own map[int][]float64) (result.Cell, error) {
	c := result.Cell{Workload: w.Name, Subject: subject}
	var valid []result.Launch
	var all []latencies
	for _, l := range run.Launches {
		if l.Workload != w.Name || l.Subject != subject || l.Again {
			continue
		}
		c.Launches++
		c.Errors += l.Counts.Errors()
		for _, reason := range l.Invalid {
			if !slices.Contains(c.Invalid, reason) {
				c.Invalid = append(c.Invalid, reason)
			}
		}
		if len(l.Invalid) > 0 {
			continue
		}
		read, err := readLatencies(w, l, dir)
		if err != nil {
			return result.Cell{}, err
		}
		valid, all, own[l.Number] = append(valid, l), append(all, read), read.percentiles()
	}
	c.Valid = len(valid)
	if c.Launches == 0 {
		c.Invalid = []string{"no launch"}
	}
	if c.Valid == 0 {
		return c, nil
	}
	var err error
	c.Figures, err = figuresOf(valid, all)
	return c, err
}

// relate fills in the ratios of a cell to its reference.
func relate(run *result.Run, c *result.Cell, pairs []pair) {
	name := "calls_per_second"
	if c.Figures.CallsPerSecond.Value == 0 {
		name = "iterations_per_second"
	}
	c.Figures.Ratio = ratioOf(logRatios(pairs, always(rate)), run.Floor(name))
	for i := range c.Figures.Operations {
		o := &c.Figures.Operations[i]
		o.MeanRatio = ratioOf(logRatios(pairs, meanOf(o.Method, o.Tool)), run.Floor(meanFigure))
	}
}

// loadShare is the share of the time from the first launch's start to the last one's end in which servers were loaded.
func loadShare(run *result.Run, dir string) float64 {
	if len(run.Launches) == 0 {
		return 0
	}
	var loaded time.Duration
	for _, l := range run.Launches {
		folders := []string{l.Folder}
		if run.Experiment.Workload(l.Workload).Load.Shape == experiment.ShapeSearch {
			folders = []string{path.Join(l.Folder, WarmupFolder)}
			for _, step := range l.Search {
				folders = append(folders, step.Folder)
			}
		}
		for _, folder := range folders {
			s, err := ReadSummary(filepath.Join(dir, filepath.FromSlash(folder)))
			if err != nil {
				continue // a launch that failed has loaded nothing that counts
			}
			first, last := s.Span()
			loaded += last.Sub(first)
		}
	}
	all := run.Launches[len(run.Launches)-1].EndedAt.Sub(run.Launches[0].StartedAt)
	for i := 1; i < len(run.Launches); i++ {
		from, to := run.Launches[i-1].EndedAt, run.Launches[i].StartedAt
		if slices.ContainsFunc(run.ResumedAt, func(at time.Time) bool { return from.Before(at) && at.Before(to) }) {
			all -= to.Sub(from)
		}
	}
	return loaded.Seconds() / all.Seconds()
}
