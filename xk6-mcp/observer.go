package mcp

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// observer counts what happens in a session beside its calls, with the tags of its opening.
func (c *client) observer(sc scene) wire.Observer {
	lasting := sc.rest()
	lasting.aside = true
	lasting.ctx = context.Background() // it outlives the iteration
	exchange := func(r *wire.Reply) { c.record(lasting, "", about{method: r.Method}, r) }
	if c.options.metrics == metricsOff { // the histograms do not depend on it
		return wire.Observer{Exchange: exchange}
	}
	m := c.mi.metrics
	tags := metrics.TagsAndMeta{Tags: sc.base.Tags}
	tags.SetSystemTagOrMetaIfEnabled(sc.state.Options.SystemTags, metrics.TagURL, c.options.url)
	tags.SetSystemTagOrMetaIfEnabled(sc.state.Options.SystemTags, metrics.TagSubproto, string(c.options.wire.Transport))
	of := func(method string) *metrics.TagSet {
		return tags.Tags.With("method", c.mi.run.methods.bounded(method))
	}
	count := func(tags *metrics.TagSet, m *metrics.Metric, value float64) { c.count(sc.state, tags, m, value) }
	o := wire.Observer{
		Exchange: exchange,
		Notification: func(n wire.Notification) {
			count(of(n.Method).With("stream", string(n.Stream)), m.notifications, 1)
		},
		ServerRequest: func(r wire.ServerRequest) {
			count(of(r.Method), m.serverReqs, 1)
			count(of(r.Method), m.serverReqDuration, metrics.D(r.Duration))
		},
		LateReply: func(method string) { count(of(method), m.lateReplies, 1) },
	}
	if c.options.wire.Transport == wire.Stdio {
		o.Noise = func([]byte) { count(tags.Tags, m.stdioNoise, 1) }
		o.Spawn = func(took time.Duration, _ error) { count(tags.Tags, m.stdioSpawnDuration, metrics.D(took)) }
		o.Exit = func(expected bool, status string) {
			count(tags.Tags.With("expected", strconv.FormatBool(expected)), m.stdioExits, 1)
			if !expected {
				sc.state.Logger.WithField("status", status).Warn("an MCP server process has ended by itself")
			}
		}
	}
	return o
}

// progress hands the progress notifications of one call to the script.
type progress struct {
	session *session
	scene   scene
	about   about
	call    sobek.Callable
	tasks   *taskQueue // nil when they must wait for the end of the call

	mu   sync.Mutex
	last time.Time
	held []wire.Progress
}

func newProgress(s *session, sc scene, a about, call sobek.Callable, tasks *taskQueue) *progress {
	return &progress{session: s, scene: sc, about: a, call: call, tasks: tasks}
}

// arrived is called from the goroutine that reads the stream.
func (p *progress) arrived(event wire.Progress) {
	c := p.session.client
	p.mu.Lock()
	last := p.last
	p.last = event.At
	p.held = append(p.held, event)
	p.mu.Unlock()
	if !last.IsZero() {
		tags := p.scene.base.Tags.With("method", c.mi.run.bounded(p.about).method)
		c.count(p.scene.state, tags, c.mi.metrics.progressInterval, metrics.D(event.At.Sub(last)))
	}
	if p.tasks != nil {
		p.tasks.add(p.deliver)
	}
}

// deliver calls the script with what has arrived.
func (p *progress) deliver() error {
	p.mu.Lock()
	held := p.held
	p.held = nil
	p.mu.Unlock()
	rt := p.session.client.mi.vu.Runtime()
	for _, event := range held {
		obj := rt.NewObject()
		set(obj, "progress", event.Progress)
		if event.Total != nil {
			set(obj, "total", *event.Total)
		}
		if event.Message != "" {
			set(obj, "message", event.Message)
		}
		set(obj, "at", event.At.UnixMilli())
		if _, err := p.call(sobek.Undefined(), obj); err != nil {
			return err
		}
	}
	return nil
}
