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
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// launch starts the subject afresh, loads it and stops it. What goes wrong is recorded in the launch, because the other
// launches are still worth making; the error is for a cancelled context only.
func (c Config) launch(ctx context.Context, e experiment.Experiment, p experiment.Launch, expected json.RawMessage, runFolder string) (result.Launch, error) {
	l := result.Launch{
		Number: p.Number, Subject: p.Subject, Workload: p.Workload,
		Folder:    fmt.Sprintf("launches/%03d-%s-%s", p.Number, strings.ReplaceAll(p.Subject, "/", "-"), p.Workload),
		StartedAt: time.Now().UTC(),
	}
	folder := filepath.Join(runFolder, filepath.FromSlash(l.Folder))
	err := c.attempt(ctx, request{Load: e.Load, Workload: e.Workload(p.Workload), Expected: expected, Folder: folder}, &l)
	if ctx.Err() != nil {
		return l, ctx.Err()
	}
	if err != nil {
		l.Failure = brief(err)
		if err := os.WriteFile(filepath.Join(folder, "failure.txt"), []byte(err.Error()+"\n"), 0o644); err != nil {
			l.Failure += "; " + err.Error()
		}
	}
	return l, nil
}

func (c Config) attempt(ctx context.Context, r request, l *result.Launch) (err error) {
	if err := os.MkdirAll(r.Folder, 0o755); err != nil {
		return err
	}
	instance, err := c.Backend.Start(ctx, c.Services[l.Subject])
	if err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	err = c.measure(ctx, instance, r, l)

	// The server must go even when the run was cancelled; Stop has a time limit of its own.
	code, stopErr := instance.Stop(context.WithoutCancel(ctx))
	if stopErr != nil {
		err = errors.Join(err, fmt.Errorf("stop the server: %w", stopErr))
	} else if code != 0 && err == nil {
		err = fmt.Errorf("the server ended with exit code %d, wanted 0", code)
	}
	// The log of a server that did well has nothing to say, and servers write paths of this machine into it.
	if err != nil || l.Counts.Errors() > 0 {
		err = errors.Join(err, copyFile(filepath.Join(r.Folder, "server.log"), instance.LogPath()))
	}
	return err
}

// measure loads a running server and records what was seen.
func (c Config) measure(ctx context.Context, server backend.Instance, r request, l *result.Launch) error {
	r.URL = server.URL()
	l.Runtime = runtimeVersion(ctx, r.URL)
	readings, err := watch(ctx, server)
	if err != nil {
		return fmt.Errorf("read the server's use of CPU and memory: %w", err)
	}
	out, k6Err := c.k6(ctx, r)
	samples, err := readings.stop(ctx)
	l.Generator = out.Generator
	out.Summary.Record(r.Workload, l)
	first, last := samples[0], samples[len(samples)-1]
	l.Server.MemoryIdleBytes, l.Server.MemoryPeakBytes, l.Server.MemoryEndBytes = first.MemoryBytes, last.PeakBytes, last.MemoryBytes
	if k6Err != nil {
		return k6Err
	}
	if err != nil {
		return fmt.Errorf("read the server's use of CPU and memory: %w", err)
	}
	if err := stats.WriteUsage(r.Folder, samples); err != nil {
		return err
	}
	if l.Window != nil {
		used, err := stats.CPUBetween(samples, l.Window.Start, l.Window.End)
		if err != nil {
			return fmt.Errorf("the server's CPU time in the window is not known: %w", err)
		}
		seconds := used.Seconds()
		l.Server.CPUSeconds = &seconds
	}
	return nil
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
