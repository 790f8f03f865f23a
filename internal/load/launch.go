package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/search"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// roundUp is how much longer than warm-up and window a load is: windows are whole seconds, and no load begins at one.
const roundUp = time.Second

// launching is a launch that is being made.
type launching struct {
	Config
	result.Launch
	workload experiment.Workload
	// expected is a JSON array with the right answers to the workload's calls.
	expected json.RawMessage
	runDir   string
	status   *live
	// image is the digest of the image that was started, empty for a process; log is the file with what the server wrote.
	image, log string
}

func (c Config) newLaunch(w experiment.Workload, p experiment.Launch, expected json.RawMessage, runDir string) *launching {
	return &launching{
		Config:   c,
		Launch:   result.Launch{Number: p.Number, Block: p.Block, Subject: p.Subject, Workload: p.Workload, Again: p.Again, Folder: launchFolder(p)},
		workload: w, expected: expected, runDir: runDir, status: newLive(w),
	}
}

// launchFolder is where a launch has its raw files, below the run's folder.
func launchFolder(p experiment.Launch) string {
	return fmt.Sprintf("launches/%03d-%s-%s", p.Number, strings.ReplaceAll(p.Subject, "/", "-"), p.Workload)
}

// make starts the subject afresh, loads it and stops it. What goes wrong is recorded in the launch, because the other launches are still
// worth making; the error is for a cancelled context, and for files that cannot be written.
func (l *launching) make(ctx context.Context) error {
	l.StartedAt = time.Now().UTC()
	err := l.attempt(ctx)
	l.EndedAt = time.Now().UTC()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.fail(err)
	l.fail(stats.Observe(l.workload, l.Budget, l.runDir, &l.Launch))
	if l.Failure != "" { // it may be Observe's, which does what it can for a launch that it knows to have failed
		err = stats.Observe(l.workload, l.Budget, l.runDir, &l.Launch)
	}
	// The log of a server that did well has nothing to say, and servers write paths of this machine into it.
	if l.log != "" && (l.Failure != "" || l.Generator.ExitCode != 0 || l.Counts.Errors() > 0) {
		err = errors.Join(err, copyFile(filepath.Join(l.folder(), "server.log"), l.log))
	}
	return err
}

// fail records what went wrong: in short in the launch, and in full beside its raw files.
func (l *launching) fail(err error) {
	if err == nil {
		return
	}
	l.Failure = brief(err)
	if err := os.WriteFile(filepath.Join(l.folder(), "failure.txt"), []byte(err.Error()+"\n"), 0o644); err != nil {
		l.Failure += "; " + err.Error()
	}
}

// folder is where the launch's raw files are.
func (l *launching) folder() string { return filepath.Join(l.runDir, filepath.FromSlash(l.Folder)) }

func (l *launching) attempt(ctx context.Context) (err error) {
	// What a harness that was killed may have left is of no use.
	if err := errors.Join(os.RemoveAll(l.folder()), os.MkdirAll(l.folder(), 0o755)); err != nil {
		return err
	}
	l.status.enter("starting", "")
	instance, err := l.Backend.Start(ctx, l.Services[l.Subject])
	if err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	l.ReadySeconds, l.image, l.log = instance.ReadyAfter().Seconds(), instance.Image(), instance.LogPath()
	err = l.measure(ctx, instance)

	l.status.enter("stopping", "")
	// The server must go even when the run was cancelled; Stop has a time limit of its own.
	code, stopErr := instance.Stop(context.WithoutCancel(ctx))
	if stopErr != nil {
		err = errors.Join(err, fmt.Errorf("stop the server: %w", stopErr))
	} else if code != 0 && err == nil {
		err = fmt.Errorf("the server ended with exit code %d, wanted 0", code)
	}
	return err
}

// measure loads a running server and leaves the raw files.
func (l *launching) measure(ctx context.Context, server backend.Instance) error {
	l.Runtime = runtimeVersion(ctx, server.URL())
	readings, err := l.watch(ctx, server)
	if err != nil {
		return err
	}
	if l.workload.Load.Shape == experiment.ShapeSearch {
		err = l.search(ctx, server.URL(), readings)
	} else {
		load := l.workload.Load
		err = l.load(ctx, "loading", request{
			URL: server.URL(), Shape: load.Shape, Rate: load.Rate, Folder: l.folder(),
			Duration: time.Duration(max(load.Warmup, load.WarmupLimit)+load.Duration) + roundUp,
			Until:    l.untilSteady(l.workload),
		}, readings)
	}
	stopErr := readings.stop(ctx)
	return errors.Join(err, stopErr, readings.write(l.folder()))
}

// untilSteady says when a closed load of the workload may end; nil if it may not.
func (l *launching) untilSteady(w experiment.Workload) func() bool {
	if !w.Load.MayEndEarly() {
		return nil
	}
	return func() bool { return l.status.steady(w) }
}

// load runs k6 once.
func (l *launching) load(ctx context.Context, phase string, r request, readings *watcher) error {
	r.Workload, r.Expected = l.workload, l.expected
	l.status.enter(phase, r.Folder)
	code, err := l.k6(ctx, r, &readings.generator)
	if l.Generator.ExitCode == 0 {
		l.Generator.ExitCode = code
	}
	return err
}

// search warms the server up and then loads it at one rate after the other, as package search says.
func (l *launching) search(ctx context.Context, url string, readings *watcher) error {
	want := l.workload.Load
	warmup := filepath.Join(l.folder(), stats.WarmupFolder)
	untilWarm := l.workload
	untilWarm.Load.Shape, untilWarm.Load.Duration = experiment.ShapeClosed, want.WarmFor()
	err := l.load(ctx, "warming up", request{
		URL: url, Shape: experiment.ShapeClosed, Duration: time.Duration(max(want.Warmup, want.WarmupLimit)), Folder: warmup,
		Until: l.untilSteady(untilWarm),
	}, readings)
	if err != nil {
		return err
	}
	start, err := search.Start(l.workload, warmup)
	if err != nil {
		return err
	}
	for l.Generator.ExitCode == 0 {
		rate, confirming, done := search.Next(start, l.Search)
		if done {
			return nil
		}
		phase, duration := "trying", want.Objective.Step
		if confirming {
			phase, duration = "confirming", want.Duration
		}
		step := result.Step{
			Folder:         fmt.Sprintf("%s/steps/%02d-r%d", l.Folder, len(l.Search)+1, rate),
			AskedPerSecond: float64(rate), Confirming: confirming,
		}
		err := l.load(ctx, fmt.Sprintf("%s %d/s", phase, rate), request{
			URL: url, Shape: experiment.ShapeOpen, Rate: rate, Duration: time.Duration(duration),
			Folder: filepath.Join(l.runDir, filepath.FromSlash(step.Folder)),
		}, readings)
		if err != nil {
			return err
		}
		// What the generator used decides too, up to the end of this step.
		if err := errors.Join(readings.readMachine(ctx), readings.write(l.folder())); err != nil {
			return err
		}
		err = stats.ObserveStep(l.workload, l.Budget, l.runDir, &step)
		l.Search = append(l.Search, step)
		if err != nil {
			return err
		}
	}
	return nil // the exit code says that something is wrong
}

// brief is an error without the end of a log, which belongs beside the raw data and not into a table.
func brief(err error) string {
	text := err.Error()
	var failure *backend.Failure
	if errors.As(err, &failure) {
		text = strings.Replace(text, failure.Error(), failure.Err.Error(), 1)
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
