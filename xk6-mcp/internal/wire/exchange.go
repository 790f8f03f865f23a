package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
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

// post sends a JSON-RPC request, or a notification when id is 0.
func (s *Session) post(ctx context.Context, id int64, method string, params []byte, opts Options) *Reply {
	body := appendRequest(make([]byte, 0, len(params)+len(method)+64), id, method, params)
	return s.send(ctx, http.MethodPost, &Reply{Method: method, Sent: len(body)}, body, opts,
		func(x *exchange, resp *http.Response) *Error {
			if id == 0 {
				return nil
			}
			return x.receive(resp, id)
		})
}

// exchange is one HTTP request and its response.
type exchange struct {
	limit  int // bytes of one message
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // from the caller's context
	timer  *time.Timer
	trace  *trace
	reply  *Reply
	body   *bodyReader
}

// send makes one exchange and fills reply; receive reads a response with a status in 2xx.
func (s *Session) send(ctx context.Context, verb string, reply *Reply, body []byte, opts Options,
	receive func(*exchange, *http.Response) *Error,
) *Reply {
	timeout := s.cfg.Timeout
	if opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	x := &exchange{limit: s.cfg.MaxMessageSize, reply: reply, trace: &trace{start: time.Now()}}
	reply.Start = x.trace.start
	// Not derived from the caller's context: the rest of a stream may be read after the call.
	x.ctx, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	x.detach = context.AfterFunc(ctx, func() { x.cancel(errInterrupted) })
	x.timer = time.AfterFunc(timeout, func() { x.cancel(errTimeout) })

	resp, err := s.cfg.HTTP.RoundTrip(s.request(x, verb, body, opts))
	if err != nil {
		reply.End = time.Now()
		if x.trace.gotConn.Load() == 0 {
			reply.Err = x.failure(connectError(err, x.trace))
		} else {
			reply.Err = x.failure(errorf(KindReset, "no response: %w", err))
		}
		x.abort()
	} else {
		reply.Status, reply.Header = resp.StatusCode, resp.Header
		x.body = &bodyReader{ReadCloser: resp.Body, ended: resp.Body == http.NoBody}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			reply.Err = x.refused(resp.StatusCode, s.id != "")
		} else {
			reply.Err = receive(x, resp)
		}
		if reply.End.IsZero() {
			reply.End = time.Now()
		}
		if reply.Err != nil {
			reply.Err.Status = resp.StatusCode
		}
		x.release()
	}
	reply.Timings = x.trace.timings(reply.End)
	reply.NewConnection = x.trace.gotConn.Load() != 0 && !x.trace.reused.Load()
	return reply
}

func (s *Session) request(x *exchange, verb string, body []byte, opts Options) *http.Request {
	header := s.header
	if len(opts.Header) > 0 {
		header = s.header.Clone()
		maps.Copy(header, opts.Header)
	}
	req := &http.Request{
		Method: verb, URL: s.url, Host: header.Get("Host"), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body != nil {
		req.ContentLength = int64(len(body))
		// GetBody lets the transport take another connection when the pooled one proves dead before
		// anything was written. The server sees one request either way.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(httptrace.WithClientTrace(x.ctx, x.trace.hooks()))
}

// refused reads the body of a response with a status outside 2xx.
func (x *exchange) refused(status int, inSession bool) *Error {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(x.body, most)) // what there is of it explains the status
	return statusError(status, body, inSession)
}

// receive reads the reply to the request with this id.
func (x *exchange) receive(resp *http.Response, id int64) *Error {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil {
		switch kind {
		case "application/json":
			return x.receiveJSON(resp, id)
		case "text/event-stream":
			return x.receiveStream(id)
		}
	}
	start, _ := io.ReadAll(io.LimitReader(x.body, 1<<10))
	return errorf(KindMalformed, "HTTP %d with content type %q, want application/json or text/event-stream: %s",
		resp.StatusCode, resp.Header.Get("Content-Type"), excerpt(start))
}

func (x *exchange) receiveJSON(resp *http.Response, id int64) *Error {
	var buf bytes.Buffer
	if resp.ContentLength > int64(x.limit) {
		return errorf(KindTooLarge, "the reply has %d bytes, more than %d", resp.ContentLength, x.limit)
	}
	if resp.ContentLength > 0 {
		buf.Grow(int(resp.ContentLength) + bytes.MinRead) // room for the read that finds the end
	}
	_, err := buf.ReadFrom(io.LimitReader(x.body, int64(x.limit)+1))
	x.reply.End = time.Now()
	x.reply.Received = buf.Len()
	switch {
	case err != nil:
		return x.failure(readError(err, buf.Len()))
	case buf.Len() > x.limit:
		return errorf(KindTooLarge, "the reply has more than %d bytes", x.limit)
	}
	m, failure := decode(buf.Bytes())
	if failure != nil {
		return failure
	}
	if !m.answers(id) {
		return errorf(KindMalformed, "not the reply to request %d: %s", id, excerpt(buf.Bytes()))
	}
	m.settle(x.reply)
	return x.reply.Err
}

func (x *exchange) receiveStream(id int64) *Error {
	x.reply.Streamed = true
	events := newEventReader(x.body, x.limit)
	for {
		data, err := events.next()
		x.reply.End = time.Now()
		switch {
		case errors.Is(err, errTooLarge):
			return errorf(KindTooLarge, "%w", err)
		case errors.Is(err, io.EOF):
			return errorf(KindTruncated, "the stream ended after %d other messages, without the reply", x.reply.Events)
		case err != nil:
			return x.failure(readError(err, x.reply.Received))
		}
		x.trace.once(&x.trace.firstEvent)
		x.reply.Received += len(data)
		if len(data) == 0 {
			continue // a server primes resumable streams with an event that has an id and no data
		}
		m, failure := decode(data)
		if failure != nil {
			return failure
		}
		if m.answers(id) {
			m.settle(x.reply)
			return x.reply.Err
		}
		if m.Method == "" {
			return errorf(KindMalformed, "not the reply to request %d: %s", id, excerpt(data))
		}
		x.reply.Events++
	}
}

// failure is e, unless the exchange was given up: then that is the reason for whatever went wrong.
func (x *exchange) failure(e *Error) *Error {
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errTimeout):
		return errorf(KindTimeout, "no reply after %s", time.Since(x.trace.start).Round(time.Millisecond))
	case errors.Is(cause, errInterrupted):
		return errorf(KindInterrupted, "the caller stopped waiting after %s", time.Since(x.trace.start).Round(time.Millisecond))
	}
	return e
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
	if x.body.ended || x.reply.Err != nil && x.reply.Err.Kind != KindRPC {
		_ = x.body.Close() // closing a body that was read to the end keeps its connection
		x.abort()
		return
	}
	x.detach()
	x.timer.Reset(lingerLimit)
	ended := make(chan struct{})
	go func() {
		_, _ = io.CopyN(io.Discard, x.body, int64(x.limit))
		_ = x.body.Close()
		x.abort()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lingerWait):
	}
}

// abort frees what the exchange holds.
func (x *exchange) abort() {
	x.detach()
	x.timer.Stop()
	x.cancel(nil)
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
