package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"time"
)

// After its reply an event stream is read to the end, so that the connection can be used again: the
// caller waits for that shortly, then it goes on in the background until the server ends the stream
// or its time is up.
const (
	lingerWait  = 5 * time.Millisecond
	lingerLimit = 5 * time.Second
)

var (
	errTimeout     = errors.New("timeout")
	errInterrupted = errors.New("interrupted")
)

// streamable carries each message in a POST, and takes the reply from the response to it.
type streamable struct{ *Session }

func (t *streamable) exchange(ctx context.Context, m *outgoing) *Reply {
	reply := &Reply{Method: m.method, Sent: len(m.body)}
	return t.send(ctx, http.MethodPost, t.url, reply, m, func(x *exchange, resp *http.Response) *Error {
		switch {
		case m.raw && m.id == "":
			return x.receiveAny(resp)
		case m.id == "" && m.batch == nil, m.batch != nil && m.batch.left == 0:
			return nil
		}
		return x.receive(resp)
	})
}

func (t *streamable) end(ctx context.Context, opts Options) error {
	if t.id == "" || t.lost.Load() {
		return nil
	}
	r := t.send(ctx, http.MethodDelete, t.url, &Reply{Method: "DELETE"}, &outgoing{opts: opts},
		func(*exchange, *http.Response) *Error { return nil })
	if r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotFound {
		r.Err = nil // the server lets no client end a session, or has ended this one itself
	}
	if observe := t.cfg.Observer.Exchange; observe != nil {
		observe(r)
	}
	if r.Err != nil {
		return r.Err
	}
	return nil
}

func (t *streamable) drop() {}

// bound limits an exchange: in time, by the caller's context, and by the session's.
type bound struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // from the caller's context
	timer  *time.Timer
	start  time.Time
}

func (s *Session) bound(ctx context.Context, opts Options) bound {
	timeout := s.cfg.Timeout
	if opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	b := bound{start: time.Now()}
	// Not derived from the caller's context: the rest of a stream may be read after the call.
	b.ctx, b.cancel = context.WithCancelCause(s.ctx)
	b.detach = context.AfterFunc(ctx, func() { b.cancel(errInterrupted) })
	b.timer = time.AfterFunc(timeout, func() { b.cancel(errTimeout) })
	return b
}

// failure is e, unless the exchange was given up: then that is the reason for whatever went wrong.
func (b *bound) failure(e *Error) *Error {
	switch cause := context.Cause(b.ctx); {
	case errors.Is(cause, errTimeout):
		return errorf(KindTimeout, "no reply after %s", time.Since(b.start).Round(time.Millisecond))
	case errors.Is(cause, errInterrupted):
		return errorf(KindInterrupted, "the caller stopped waiting after %s", time.Since(b.start).Round(time.Millisecond))
	case errors.Is(cause, errClosed):
		return errorf(KindInterrupted, "%w", errClosed)
	}
	return e
}

// free frees what the bound holds, and gives up what still runs under it.
func (b *bound) free() {
	b.detach()
	b.timer.Stop()
	b.cancel(nil)
}

// exchange is one HTTP request and its response.
type exchange struct {
	bound
	s     *Session
	m     *outgoing
	trace *trace
	reply *Reply
	body  bodyReader
	kept  bool // the body is a stream that goes on after the exchange
}

// send makes one exchange and fills reply; receive reads a response with a status in 2xx.
func (s *Session) send(ctx context.Context, verb string, target *url.URL, reply *Reply, m *outgoing,
	receive func(*exchange, *http.Response) *Error,
) *Reply {
	header, failure := s.headerOf(ctx, verb, m)
	x := &exchange{s: s, m: m, bound: s.bound(ctx, m.opts), reply: reply}
	x.trace = newTrace(x.start)
	reply.Start = x.start
	if failure != nil {
		reply.End, reply.Err = time.Now(), x.failure(failure)
		x.free()
		return reply
	}
	via := s.cfg.HTTP
	if m.lasts && s.cfg.Streams != nil {
		via = s.cfg.Streams
	}
	resp, err := via.RoundTrip(x.request(verb, target, header))
	if err != nil {
		reply.End = time.Now()
		if x.trace.gotConn.Load() == 0 {
			reply.Err = x.failure(connectError(err, x.trace))
		} else {
			reply.Err = x.failure(errorf(KindReset, "no response: %w", err))
		}
		x.free()
	} else {
		reply.Status, reply.Header = resp.StatusCode, resp.Header
		x.body = bodyReader{ReadCloser: resp.Body, ended: resp.Body == http.NoBody}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			reply.Err = x.refused(resp.StatusCode)
		} else {
			reply.Err = receive(x, resp)
		}
		if reply.End.IsZero() {
			reply.End = time.Now()
		}
		if reply.Err != nil {
			reply.Err.Status = resp.StatusCode
		}
		if !x.kept {
			x.release()
		}
	}
	reply.Timings = x.trace.timings(reply.End)
	reply.NewConnection = x.trace.gotConn.Load() != 0 && !x.trace.reused.Load()
	if resp != nil && !x.kept {
		x.trace.recycle(resp.ProtoMajor)
		x.trace = nil
	}
	return reply
}

// headerOf is the header of a request. The session's own is used as it is where nothing is added.
func (s *Session) headerOf(ctx context.Context, verb string, m *outgoing) (http.Header, *Error) {
	var more http.Header
	set := func(name string, values ...string) {
		if more == nil {
			more = http.Header{}
		}
		more[name] = values
	}
	if verb == http.MethodGet {
		set("Accept", "text/event-stream")
		set("Content-Type")
	}
	if auth, ok := s.cfg.Auth.(authorizer); ok {
		value, failure := auth.authorization(ctx, s.cfg.HTTP)
		if failure != nil {
			return nil, failure
		}
		set("Authorization", value)
	}
	if s.Stateless() {
		if m.method != "" {
			set("Mcp-Method", headerValue(m.method))
		}
		if m.name != "" {
			set("Mcp-Name", headerValue(m.name))
		}
	}
	return withHeader(withHeader(s.header, more), m.opts.Header), nil
}

func (x *exchange) request(verb string, target *url.URL, header http.Header) *http.Request {
	req := &http.Request{
		Method: verb, URL: target, Host: header.Get("Host"), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body := x.m.body; body != nil {
		req.ContentLength = int64(len(body))
		// GetBody lets the transport take another connection when the pooled one proves dead before
		// anything was written. The server sees one request either way.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(httptrace.WithClientTrace(x.ctx, &x.trace.hooks))
}

// refused reads the body of a response with a status outside 2xx.
func (x *exchange) refused(status int) *Error {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(&x.body, most)) // what there is of it explains the status
	if x.m.raw {
		x.reply.Body, x.reply.Received = body, len(body)
	}
	return statusError(status, body, x.s.id != "")
}

// receive reads the reply that is due.
func (x *exchange) receive(resp *http.Response) *Error {
	switch mediaType(resp) {
	case "application/json":
		return x.receiveJSON(resp)
	case "text/event-stream":
		return x.receiveStream()
	}
	return x.unexpected(resp, "application/json or text/event-stream")
}

func (x *exchange) unexpected(resp *http.Response, want string) *Error {
	start, _ := io.ReadAll(io.LimitReader(&x.body, 1<<10))
	if x.m.raw {
		x.reply.Body, x.reply.Received = start, len(start)
	}
	return errorf(KindMalformed, "HTTP %d with content type %q, want %s: %s",
		resp.StatusCode, resp.Header.Get("Content-Type"), want, excerpt(start))
}

// receiveAny takes whatever there is, and judges it only if it is a reply.
func (x *exchange) receiveAny(resp *http.Response) *Error {
	if mediaType(resp) == "text/event-stream" {
		failure := x.receiveStream()
		if failure != nil && failure.Kind == KindTruncated && len(x.reply.Body) == 0 {
			return nil
		}
		return failure
	}
	data, failure := x.readAll(resp)
	if failure != nil {
		return failure
	}
	if m, failure := decode(data); failure == nil && m.Method == "" && (m.Result != nil || m.Error != nil) {
		m.settle(x.reply)
	}
	return x.reply.Err
}

func mediaType(resp *http.Response) string {
	value := resp.Header.Get("Content-Type")
	if value == "application/json" || value == "text/event-stream" {
		return value
	}
	kind, _, err := mime.ParseMediaType(value)
	if err != nil {
		return ""
	}
	return kind
}

// readAll reads a body that is no stream.
func (x *exchange) readAll(resp *http.Response) ([]byte, *Error) {
	limit := x.s.cfg.MaxMessageSize
	size := max(512, x.s.lastSize.Load()) // replies of a session are often alike
	switch {
	case resp.ContentLength > int64(limit):
		return nil, errorf(KindTooLarge, "the reply has %d bytes, more than %d", resp.ContentLength, limit)
	case resp.ContentLength >= 0:
		size = resp.ContentLength
	}
	data := make([]byte, 0, size+1) // room for the read that finds the end
	var err error
	for err == nil && len(data) <= limit {
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		var n int
		n, err = x.body.Read(data[len(data):min(cap(data), limit+1)])
		data = data[:len(data)+n]
	}
	x.reply.End = time.Now()
	x.reply.Received = len(data)
	x.s.lastSize.Store(int64(len(data)))
	if x.m.raw {
		x.reply.Body = data
	}
	switch {
	case len(data) > limit:
		return nil, errorf(KindTooLarge, "the reply has more than %d bytes", limit)
	case !errors.Is(err, io.EOF):
		return nil, x.failure(readError(err, len(data)))
	}
	return data, nil
}

func (x *exchange) receiveJSON(resp *http.Response) *Error {
	data, failure := x.readAll(resp)
	if failure != nil {
		return failure
	}
	done, failure := x.accept(data)
	if failure == nil && !done {
		return errorf(KindMalformed, "not the reply to %s: %s", x.wanted(), excerpt(data))
	}
	return failure
}

func (x *exchange) receiveStream() *Error {
	x.reply.Streamed = true
	events := borrowEventReader(&x.body, x.s.cfg.MaxMessageSize)
	defer events.giveBack()
	for {
		data, err := events.next()
		x.reply.End = time.Now()
		if err != nil {
			return x.failure(streamError(err, x.reply))
		}
		x.trace.once(&x.trace.firstEvent)
		x.reply.Received += len(data)
		if len(data) == 0 {
			continue // a server primes resumable streams with an event that has an id and no data
		}
		if x.m.raw {
			x.reply.Body = append(append(x.reply.Body, data...), '\n')
		}
		if done, failure := x.accept(bytes.Clone(data)); done || failure != nil { // data is used again
			return failure
		}
	}
}

// accept takes what came in, and reports whether it was the last that was due.
func (x *exchange) accept(data []byte) (done bool, failure *Error) {
	if x.m.batch != nil {
		if list := elements(data); list != nil {
			for _, one := range list {
				if done, failure = x.acceptOne(one); done || failure != nil {
					break
				}
			}
			return done, failure
		}
	}
	return x.acceptOne(data)
}

func (x *exchange) acceptOne(data []byte) (done bool, failure *Error) {
	m, failure := decode(data)
	switch {
	case failure != nil:
		return false, failure
	case m.Method != "":
		x.reply.Events++
		x.s.incoming(&m, ReplyStream)
		return false, nil
	case x.m.batch != nil:
		return x.m.batch.take(&m, len(data), x.reply.End)
	case m.answers(x.m.id), x.m.raw && x.m.id == "":
		m.settle(x.reply)
		return true, x.reply.Err
	}
	return false, errorf(KindMalformed, "not the reply to %s: %s", x.wanted(), excerpt(data))
}

func (x *exchange) wanted() string {
	if x.m.batch != nil {
		return "the batch"
	}
	return "request " + x.m.id
}

// streamError classifies the failure to read the next event.
func streamError(err error, r *Reply) *Error {
	switch {
	case errors.Is(err, errTooLarge):
		return errorf(KindTooLarge, "%w", err)
	case errors.Is(err, io.EOF):
		return errorf(KindTruncated, "the stream ended after %d other messages, without the reply", r.Events)
	}
	return readError(err, r.Received)
}

// readError classifies a failure to read the body to its end.
func readError(err error, received int) *Error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errorf(KindTruncated, "the response ends early after %d bytes: %w", received, err)
	}
	return errorf(KindReset, "the connection broke after %d bytes: %w", received, err)
}

// release gives the connection back when the response has been read to its end, waits for the end of
// a stream whose reply is here, and drops the connection otherwise.
func (x *exchange) release() {
	if x.body.ended || x.reply.Err != nil && x.reply.Err.RPC == nil {
		x.drop()
		return
	}
	x.linger()
}

// drop gives up the response. Closing a body that was read to the end keeps its connection.
func (x *exchange) drop() {
	_ = x.body.Close()
	x.free()
}

func (x *exchange) linger() {
	x.detach()
	x.timer.Reset(lingerLimit)
	ended := make(chan struct{})
	if !x.s.spawn(func() {
		_, _ = io.CopyN(io.Discard, &x.body, int64(x.s.cfg.MaxMessageSize))
		x.drop()
		close(ended)
	}) {
		x.drop()
		return
	}
	select {
	case <-ended:
	case <-time.After(lingerWait):
	}
}

// bodyReader notes that a body has been read to its end.
type bodyReader struct {
	io.ReadCloser
	ended bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}
