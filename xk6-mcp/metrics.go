package mcp

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// metricSet are the metrics of the extension.
type metricSet struct {
	reqs, reqDuration, reqFailed, toolFailed                         *metrics.Metric
	blocked, connecting, tlsHandshaking, sending, waiting, receiving *metrics.Metric
	firstEvent, sentBytes, receivedBytes                             *metrics.Metric
	scheduleLag, responseTime                                        *metrics.Metric
	sessions, sessionsOpen, sessionsLost                             *metrics.Metric
	sessionConnecting, sessionDuration                               *metrics.Metric
	streamsOpen, streamDuration, notifications, notificationsDropped *metrics.Metric
	progressInterval, serverReqs, serverReqDuration                  *metrics.Metric
	cancels, lateReplies, authDuration                               *metrics.Metric
	stdioSpawnDuration, stdioExits, stdioNoise                       *metrics.Metric
	wrongAnswers                                                     *metrics.Metric
}

// definition of a metric. README.md has a table of them, which a test compares with this one.
type definition struct {
	field   **metrics.Metric
	name    string
	kind    metrics.MetricType
	unit    metrics.ValueType
	meaning string
}

func (m *metricSet) definitions() []definition {
	const (
		counter, gauge, rate, trend = metrics.Counter, metrics.Gauge, metrics.Rate, metrics.Trend
		number, ms, bytes           = metrics.Default, metrics.Time, metrics.Data
	)
	return []definition{
		{&m.reqs, "mcp_reqs", counter, number, "requests and notifications sent"},
		{&m.reqDuration, "mcp_req_duration", trend, ms, "`sending + waiting + receiving`, up to the matching reply; not of handshakes, cancelled calls and answers to the server"},
		{&m.reqFailed, "mcp_req_failed", rate, number, "no valid result came: connection, HTTP, protocol or JSON-RPC error"},
		{&m.toolFailed, "mcp_tool_failed", rate, number, "of `tools/call`: as above, or `isError`"},
		{&m.blocked, "mcp_req_blocked", trend, ms, "as `http_req_blocked`: waiting for a connection"},
		{&m.connecting, "mcp_req_connecting", trend, ms, "as `http_req_connecting`"},
		{&m.tlsHandshaking, "mcp_req_tls_handshaking", trend, ms, "as `http_req_tls_handshaking`"},
		{&m.sending, "mcp_req_sending", trend, ms, "as `http_req_sending`"},
		{&m.waiting, "mcp_req_waiting", trend, ms, "as `http_req_waiting`: to the first byte"},
		{&m.receiving, "mcp_req_receiving", trend, ms, "first byte to the last byte of the matching reply"},
		{&m.firstEvent, "mcp_req_first_event", trend, ms, "on a stream: from the request written to the first event of any kind"},
		{&m.sentBytes, "mcp_req_sent_bytes", trend, bytes, "size of the JSON-RPC request"},
		{&m.receivedBytes, "mcp_req_received_bytes", trend, bytes, "size of the JSON-RPC messages that came back"},
		{&m.scheduleLag, "mcp_schedule_lag", trend, ms, "arrival-rate executors: from the intended start of an iteration to its first operation"},
		{&m.responseTime, "mcp_response_time", trend, ms, "arrival-rate executors: from the intended start of an iteration to the reply of its first call"},
		{&m.sessions, "mcp_sessions", counter, number, "handshakes completed"},
		{&m.sessionsOpen, "mcp_sessions_open", gauge, number, "sessions open in this process"},
		{&m.sessionsLost, "mcp_sessions_lost", counter, number, "open sessions that the server no longer knew, or whose process ended"},
		{&m.sessionConnecting, "mcp_session_connecting", trend, ms, "a whole handshake"},
		{&m.sessionDuration, "mcp_session_duration", trend, ms, "from the handshake to the end of a session"},
		{&m.streamsOpen, "mcp_streams_open", gauge, number, "streams of `listen()` open in this process"},
		{&m.streamDuration, "mcp_stream_duration", trend, ms, "from the opening to the end of such a stream; tag `reason`: `closed` or an error kind"},
		{&m.notifications, "mcp_notifications", counter, number, "notifications received; tags `method` and `stream` (`listen` or `reply`)"},
		{&m.notificationsDropped, "mcp_notifications_dropped", counter, number, "notifications that found the queue of a listener full"},
		{&m.progressInterval, "mcp_progress_interval", trend, ms, "between two progress notifications of a call"},
		{&m.serverReqs, "mcp_server_reqs", counter, number, "requests of the server: sampling, elicitation, roots and others"},
		{&m.serverReqDuration, "mcp_server_req_duration", trend, ms, "from such a request to the answer sent, its `delay` included"},
		{&m.cancels, "mcp_cancels", counter, number, "calls given up by `cancelAfter`"},
		{&m.lateReplies, "mcp_cancel_late_replies", counter, number, "replies to calls that had been given up"},
		{&m.authDuration, "mcp_auth_duration", trend, ms, "fetching an access token; tag `expected_response`"},
		{&m.stdioSpawnDuration, "mcp_stdio_spawn_duration", trend, ms, "starting a server process"},
		{&m.stdioExits, "mcp_stdio_exits", counter, number, "server processes that ended; tag `expected`"},
		{&m.stdioNoise, "mcp_stdio_noise", counter, number, "lines on a server's standard output that are no message or answer no call"},
		{&m.wrongAnswers, "mcp_wrong_answers", counter, number, "answers on which the script called `reject()`"},
	}
}

func registerMetrics(registry *metrics.Registry) (*metricSet, error) {
	m := &metricSet{}
	for _, d := range m.definitions() {
		metric, err := registry.NewMetric(d.name, d.kind, d.unit)
		if err != nil {
			return nil, err
		}
		*d.field = metric
	}
	return m, nil
}

// scene is what the records of an operation need and only the JavaScript thread knows. It is taken when
// the operation begins.
type scene struct {
	ctx      context.Context // of the iteration
	state    *lib.State
	base     metrics.TagsAndMeta // tags of the VU, then of the client, then of the call
	scenario string
	// intended is when the iteration should have begun; zero when this is not the first call in it, or
	// when nothing was intended.
	intended time.Time
	// aside says that this is no call of the script: it is counted, but its time is not among the calls'.
	aside bool
	// lag is how much later than that the iteration's first operation began; negative when this is not it.
	lag time.Duration
}

// scene takes what is so at this moment, or throws.
func (c *client) scene(what string, callTags sobek.Value) scene {
	state := c.mi.state(what)
	rt := c.mi.vu.Runtime()
	s := scene{ctx: c.mi.vu.Context(), state: state, base: state.Tags.GetCurrentValues(), lag: -1}
	for _, tags := range []sobek.Value{c.options.tags, callTags} {
		if err := common.ApplyCustomUserTags(rt, &s.base, tags); err != nil {
			common.Throw(rt, err)
		}
	}
	if scenario := lib.GetScenarioState(s.ctx); scenario != nil { // none in setup and teardown
		s.scenario = scenario.Name
	}
	return s
}

// begin takes the scene of an operation that sends something, or throws. Handshakes are no calls.
func (c *client) begin(what string, callTags sobek.Value, isCall bool) scene {
	s := c.scene(what, callTags)
	a := c.mi.arrivalOf(s.ctx, s.state)
	if a.intended.IsZero() {
		return s
	}
	if !a.lagged {
		a.lagged = true
		s.lag = max(0, time.Since(a.intended))
	}
	if isCall && !a.called {
		a.called = true
		s.intended = a.intended
	}
	return s
}

// rest is the scene of the exchanges after an operation's first one.
func (s scene) rest() scene {
	s.intended, s.lag = time.Time{}, -1
	return s
}

// labels are the tags of a sample and the series of a histogram, which are the same for all calls
// alike: they are looked up once per kind of call, not once per call.
type labels struct {
	tags *metrics.TagSet
	hist *histlog.Series // nil when none is kept
}

type labelsKey struct {
	base         *metrics.TagSet // k6 has one pointer for equal tag sets
	scenario     string
	about        about
	version      string
	status, code int
	kind         wire.Kind
}

// about is what the tags say of a request.
type about struct {
	method string
	name   string // of the tool, prompt or resource; empty for other methods
}

// labelCache is safe for concurrent use.
type labelCache struct {
	mu sync.Mutex
	of map[labelsKey]labels
}

func (c *client) labelsOf(sc scene, version string, a about, r *wire.Reply) labels {
	key := labelsKey{base: sc.base.Tags, scenario: sc.scenario, about: a, version: version, status: r.Status}
	if r.Err != nil {
		key.kind = r.Err.Kind
		key.code = k6Code(r.Err)
		if r.Err.RPC != nil {
			key.code = r.Err.RPC.Code
		}
	}
	c.labels.mu.Lock()
	defer c.labels.mu.Unlock()
	l, ok := c.labels.of[key]
	if !ok {
		l = c.newLabels(sc.state, key)
		c.labels.of[key] = l
	}
	return l
}

func (c *client) newLabels(state *lib.State, key labelsKey) labels {
	t := metrics.TagsAndMeta{Tags: key.base}
	system := func(tag metrics.SystemTag, value string) {
		t.SetSystemTagOrMetaIfEnabled(state.Options.SystemTags, tag, value)
	}
	system(metrics.TagMethod, key.about.method)
	if _, ok := key.base.Get("name"); !ok { // the script's own name wins
		name := key.about.method
		if key.about.name != "" {
			name = key.about.name
		}
		system(metrics.TagName, name)
	}
	tool := ""
	if key.about.method == "tools/call" && key.about.name != "" {
		tool = key.about.name
		t.SetTag("tool", tool)
	}
	system(metrics.TagURL, c.options.url)
	system(metrics.TagSubproto, string(c.options.wire.Transport))
	if key.version != "" {
		system(metrics.TagProto, "MCP/"+key.version)
	}
	system(metrics.TagStatus, strconv.Itoa(key.status))
	system(metrics.TagExpectedResponse, strconv.FormatBool(key.kind == "" || key.kind == wire.KindCancelled))
	if key.kind != "" {
		t.SetTag("error_kind", string(key.kind))
		if key.code != 0 {
			system(metrics.TagErrorCode, strconv.Itoa(key.code))
		}
	}
	l := labels{tags: t.Tags}
	if histograms := c.mi.run.histograms.Load(); histograms != nil {
		phase, _ := key.base.Get("phase")
		l.hist = histograms.Series(histlog.Key{
			Scenario: key.scenario, Method: key.about.method, Tool: tool, Phase: phase,
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

// record counts one exchange in the histograms and pushes its samples. It may be called from any
// goroutine.
func (c *client) record(sc scene, version string, a about, r *wire.Reply) labels {
	a = c.mi.run.bounded(a)
	l := c.labelsOf(sc, version, a, r)
	var response time.Duration
	if !sc.intended.IsZero() {
		response = r.End.Sub(sc.intended)
	}
	if l.hist != nil {
		l.hist.Add(r, response, sc.lag)
	}
	var kind wire.Kind
	if r.Err != nil {
		kind = r.Err.Kind
	}
	if c.options.metrics == metricsOff || kind == wire.KindInterrupted {
		return l
	}
	m := c.mi.metrics
	b := batch{samples: make([]metrics.Sample, 0, 15), tags: l.tags, meta: sc.base.Metadata, at: r.End}
	b.add(m.reqs, 1)
	b.addRate(m.reqFailed, kind != "" && kind != wire.KindTool && kind != wire.KindCancelled)
	if sc.lag >= 0 {
		b.addTime(m.scheduleLag, sc.lag)
	}
	switch {
	case sc.aside:
	case kind == wire.KindCancelled: // its time is the script's
		b.add(m.cancels, 1)
	default:
		b.addTime(m.reqDuration, r.Timings.Duration)
		if response > 0 {
			b.addTime(m.responseTime, response)
		}
		if r.Method == "tools/call" {
			b.addRate(m.toolFailed, kind != "")
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
	if c.options.wire.Transport == wire.Stdio { // over HTTP k6's dialer counts what the network carries
		builtin := sc.state.BuiltinMetrics
		b.add(builtin.DataSent, float64(r.Sent))
		b.add(builtin.DataReceived, float64(r.Received))
	}
	c.mi.run.push(sc.ctx, sc.state.Samples, b.connected())
	return l
}

// count pushes a sample of its own, at any time of the run and from any goroutine.
func (c *client) count(state *lib.State, tags *metrics.TagSet, m *metrics.Metric, value float64) {
	if c.options.metrics == metricsOff {
		return
	}
	b := batch{tags: tags, at: time.Now()}
	b.add(m, value)
	c.mi.run.push(context.Background(), state.Samples, b.connected())
}

// valueLimit keeps the values of a tag within bounds: k6 keeps a time series for each combination.
type valueLimit struct {
	known sync.Map
	count atomic.Int64
}

// mostValues is how many values of each tag there are in one run, besides "other".
const mostValues = 200

func (n *valueLimit) bounded(name string) string {
	if name == "" {
		return ""
	}
	if _, ok := n.known.Load(name); ok {
		return name
	}
	if n.count.Load() >= mostValues {
		return "other"
	}
	if _, loaded := n.known.LoadOrStore(name, struct{}{}); !loaded {
		n.count.Add(1)
	}
	return name
}
