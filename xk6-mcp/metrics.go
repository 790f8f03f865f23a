package mcp

import (
	"strconv"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// metricSet are the metrics of the extension; README.md says what they mean.
type metricSet struct {
	reqs, reqDuration, reqFailed, toolFailed                         *metrics.Metric
	blocked, connecting, tlsHandshaking, sending, waiting, receiving *metrics.Metric
	firstEvent, sentBytes, receivedBytes                             *metrics.Metric
	sessions, sessionsOpen, sessionsLost                             *metrics.Metric
	sessionConnecting, sessionDuration                               *metrics.Metric
	wrongAnswers                                                     *metrics.Metric
}

func registerMetrics(registry *metrics.Registry) (*metricSet, error) {
	m := &metricSet{}
	for _, def := range []struct {
		field    **metrics.Metric
		name     string
		kind     metrics.MetricType
		contains []metrics.ValueType
	}{
		{&m.reqs, "mcp_reqs", metrics.Counter, nil},
		{&m.reqDuration, "mcp_req_duration", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.reqFailed, "mcp_req_failed", metrics.Rate, nil},
		{&m.toolFailed, "mcp_tool_failed", metrics.Rate, nil},
		{&m.blocked, "mcp_req_blocked", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.connecting, "mcp_req_connecting", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.tlsHandshaking, "mcp_req_tls_handshaking", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.sending, "mcp_req_sending", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.waiting, "mcp_req_waiting", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.receiving, "mcp_req_receiving", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.firstEvent, "mcp_req_first_event", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.sentBytes, "mcp_req_sent_bytes", metrics.Trend, []metrics.ValueType{metrics.Data}},
		{&m.receivedBytes, "mcp_req_received_bytes", metrics.Trend, []metrics.ValueType{metrics.Data}},
		{&m.sessions, "mcp_sessions", metrics.Counter, nil},
		{&m.sessionsOpen, "mcp_sessions_open", metrics.Gauge, nil},
		{&m.sessionsLost, "mcp_sessions_lost", metrics.Counter, nil},
		{&m.sessionConnecting, "mcp_session_connecting", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.sessionDuration, "mcp_session_duration", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.wrongAnswers, "mcp_wrong_answers", metrics.Counter, nil},
	} {
		metric, err := registry.NewMetric(def.name, def.kind, def.contains...)
		if err != nil {
			return nil, err
		}
		*def.field = metric
	}
	return m, nil
}

// labels are the tags of a sample and the series of a histogram, which are the same for all calls
// alike: they are looked up once per kind of call, not once per call.
type labels struct {
	tags *metrics.TagSet
	hist *histlog.Series // nil when none is kept
}

type labelsKey struct {
	base                   *metrics.TagSet // k6 has one pointer for equal tag sets
	scenario, method, tool string
	version                string
	status, code           int
	kind                   wire.Kind
}

// baseTags are the tags of the VU now, then the client's, then the call's.
func (c *client) baseTags(state *lib.State, callTags sobek.Value) metrics.TagsAndMeta {
	rt := c.mi.vu.Runtime()
	base := state.Tags.GetCurrentValues()
	for _, tags := range []sobek.Value{c.options.tags, callTags} {
		if err := common.ApplyCustomUserTags(rt, &base, tags); err != nil {
			common.Throw(rt, err)
		}
	}
	return base
}

func (c *client) labelsOf(state *lib.State, base *metrics.TagSet, version, tool string, r *wire.Reply) labels {
	key := labelsKey{base: base, method: r.Method, tool: tool, version: version, status: r.Status}
	if scenario := lib.GetScenarioState(c.mi.vu.Context()); scenario != nil { // none in setup and teardown
		key.scenario = scenario.Name
	}
	if r.Err != nil {
		key.kind = r.Err.Kind
		if r.Err.RPC != nil {
			key.code = r.Err.RPC.Code
		}
	}
	l, ok := c.labels[key]
	if !ok {
		l = c.newLabels(state, key)
		c.labels[key] = l
	}
	return l
}

func (c *client) newLabels(state *lib.State, key labelsKey) labels {
	t := metrics.TagsAndMeta{Tags: key.base}
	system := func(tag metrics.SystemTag, value string) {
		t.SetSystemTagOrMetaIfEnabled(state.Options.SystemTags, tag, value)
	}
	system(metrics.TagMethod, key.method)
	if _, ok := key.base.Get("name"); !ok { // the script's own name wins
		name := key.method
		if key.tool != "" {
			name = key.tool
		}
		system(metrics.TagName, name)
	}
	if key.tool != "" {
		t.SetTag("tool", key.tool)
	}
	system(metrics.TagURL, c.options.wire.URL)
	system(metrics.TagSubproto, "streamable-http")
	if key.version != "" {
		system(metrics.TagProto, "MCP/"+key.version)
	}
	system(metrics.TagStatus, strconv.Itoa(key.status))
	system(metrics.TagExpectedResponse, strconv.FormatBool(key.kind == ""))
	if key.kind != "" {
		t.SetTag("error_kind", string(key.kind))
		if key.code != 0 {
			system(metrics.TagErrorCode, strconv.Itoa(key.code))
		}
	}
	l := labels{tags: t.Tags}
	if c.mi.run.histograms != nil {
		phase, _ := key.base.Get("phase")
		l.hist = c.mi.run.histograms.Series(histlog.Key{
			Scenario: key.scenario, Method: key.method, Tool: key.tool, Phase: phase,
		})
	}
	return l
}

// batch collects samples that share tags, metadata and time.
type batch struct {
	samples []metrics.Sample
	tags    *metrics.TagSet
	meta    map[string]string
	at      time.Time
}

func (b *batch) add(m *metrics.Metric, value float64) {
	b.samples = append(b.samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: m, Tags: b.tags}, Time: b.at, Value: value, Metadata: b.meta,
	})
}

func (b *batch) addTime(m *metrics.Metric, d time.Duration) { b.add(m, metrics.D(d)) }

func (b *batch) addRate(m *metrics.Metric, failed bool) {
	value := 0.0
	if failed {
		value = 1
	}
	b.add(m, value)
}

func (b *batch) connected() metrics.ConnectedSamples {
	return metrics.ConnectedSamples{Samples: b.samples, Tags: b.tags, Time: b.at}
}

// record counts one exchange in the histograms and pushes its samples.
func (c *client) record(state *lib.State, base metrics.TagsAndMeta, version, tool string, r *wire.Reply) labels {
	l := c.labelsOf(state, base.Tags, version, tool, r)
	if l.hist != nil {
		l.hist.Add(r, 0)
	}
	if c.options.metrics == metricsOff || r.Err != nil && r.Err.Kind == wire.KindInterrupted {
		return l
	}
	m := c.mi.metrics
	b := batch{samples: make([]metrics.Sample, 0, 13), tags: l.tags, meta: base.Metadata, at: r.End}
	b.add(m.reqs, 1)
	b.addRate(m.reqFailed, r.Err != nil && r.Err.Kind != wire.KindTool)
	switch r.Method {
	case "initialize", "notifications/initialized": // mcp_session_connecting has their time
	default:
		b.addTime(m.reqDuration, r.Timings.Duration)
		if r.Method == "tools/call" {
			b.addRate(m.toolFailed, r.Err != nil)
		}
		if c.options.metrics == metricsPhases {
			b.addTime(m.blocked, r.Timings.Blocked)
			b.addTime(m.connecting, r.Timings.Connecting)
			b.addTime(m.tlsHandshaking, r.Timings.TLSHandshaking)
			b.addTime(m.sending, r.Timings.Sending)
			b.addTime(m.waiting, r.Timings.Waiting)
			b.addTime(m.receiving, r.Timings.Receiving)
			b.add(m.sentBytes, float64(r.Sent))
			b.add(m.receivedBytes, float64(r.Received))
			if r.Timings.FirstEvent > 0 {
				b.addTime(m.firstEvent, r.Timings.FirstEvent)
			}
		}
	}
	c.push(state, b)
	return l
}

// push sends a batch for the current iteration.
func (c *client) push(state *lib.State, b batch) {
	c.mi.run.push(c.mi.vu.Context(), state.Samples, b.connected())
}
