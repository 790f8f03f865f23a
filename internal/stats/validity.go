package stats

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// What makes a launch invalid. No figure is taken from an invalid launch; it is shown with its reasons instead.
const (
	// MaxWrong, MaxFailed and MaxToolFailed are 0: a call that fails is usually a fast one, so even a few would make a server look
	// better than it is, and a server that answers wrongly under load does other work than the one it is compared with. The
	// gate has shown that each of these calls succeeds, so there is no rate of errors that is to be expected.
	MaxWrong      = 0
	MaxFailed     = 0
	MaxToolFailed = 0

	// MinCalls is 1: without any call there is nothing to show.
	MinCalls = 1

	// MinUpstreamHeadroom is how many times the rate asked by the fastest server the upstream service must be able to serve.
	// Waiting grows without bound as a service comes near its capacity; at a third of it the wait is a small part of the service
	// time, so that what is measured is the server in front.
	MinUpstreamHeadroom = 3.0
)

// ToolCallingUpstream is the tool whose calls reach the upstream service.
const ToolCallingUpstream = "fetch_external_data"

// Judge returns the reasons why a launch, taken by itself, is invalid.
func Judge(l result.Launch) []string {
	if l.Failure != "" {
		return []string{l.Failure}
	}
	var reasons []string
	if n := l.Counts.Wrong; n > MaxWrong {
		reasons = append(reasons, english.Plural(int(n), "wrong answer", ""))
	}
	if n := l.Counts.Failed; n > MaxFailed {
		reasons = append(reasons, english.Plural(int(n), "failed call", ""))
	}
	if n := l.Counts.ToolFailed; n > MaxToolFailed {
		reasons = append(reasons, english.Plural(int(n), "call", "")+" answered with a tool error")
	}
	if code := l.Generator.ExitCode; code != 0 {
		reasons = append(reasons, fmt.Sprintf("k6 ended with exit code %d", code))
	}
	switch {
	case l.Counts.OK < MinCalls || l.Window == nil || l.Histogram == "":
		reasons = append(reasons, "no successful call in the window")
	case l.Server.CPUSeconds == nil:
		reasons = append(reasons, "the server's CPU time was not read over the whole window")
	}
	return reasons
}

// upstreamInvalid returns why launches that call the upstream service are invalid, or "".
func upstreamInvalid(u result.Upstream) string {
	if u.CapacityPerSecond >= MinUpstreamHeadroom*u.AskedPerSecond {
		return ""
	}
	return fmt.Sprintf("upstream serves %.3g calls/s, less than %g times the %.3g that %s asked",
		u.CapacityPerSecond, MinUpstreamHeadroom, u.AskedPerSecond, u.FastestSubject)
}
