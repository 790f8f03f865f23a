package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// sse is HTTP+SSE of 2024-11-05: a GET opens the stream of all that the server sends, and its first
// event says where to POST.
type sse struct {
	duplex
	endpoint *url.URL
}

func newSSE(s *Session) *sse {
	t := &sse{duplex: newDuplex(s)}
	t.post = func(ctx context.Context, m *outgoing) *Reply {
		return s.send(ctx, http.MethodPost, t.endpoint, &Reply{Method: m.method, Sent: len(m.body)}, m,
			func(x *exchange, resp *http.Response) *Error {
				if !m.raw {
					return nil
				}
				_, failure := x.readAll(resp)
				return failure
			})
	}
	return t
}

// open opens the stream and waits for the address.
func (t *sse) open(ctx context.Context, opts Options) *Reply {
	reply := &Reply{Method: http.MethodGet}
	return t.send(ctx, http.MethodGet, t.url, reply, &outgoing{opts: opts, lasts: true}, func(x *exchange, resp *http.Response) *Error {
		if mediaType(resp) != "text/event-stream" {
			return x.unexpected(resp, "text/event-stream")
		}
		reply.Streamed = true
		events := newEventReader(&x.body, t.cfg.MaxMessageSize)
		for {
			data, err := events.nextAny()
			if err != nil {
				return x.failure(streamError(err, reply))
			}
			if events.kind == "endpoint" {
				if failure := t.setEndpoint(string(data)); failure != nil {
					return failure
				}
				break
			}
		}
		if !t.spawn(func() { t.read(x, events) }) {
			return errorf(KindInterrupted, "%w", errClosed)
		}
		x.kept = true
		x.detach()
		x.timer.Stop()
		return nil
	})
}

// setEndpoint resolves the address to POST to. It must be on the server that was asked: the requests
// carry its credentials.
func (t *sse) setEndpoint(s string) *Error {
	u, err := t.url.Parse(s)
	if err != nil {
		return errorf(KindMalformed, "the address to POST to: %w", err)
	}
	if u.Scheme != t.url.Scheme || u.Host != t.url.Host {
		return errorf(KindMalformed, "the address to POST to, %s, is not on %s", u, t.url.Host)
	}
	t.endpoint = u
	return nil
}

func (t *sse) read(x *exchange, events *eventReader) {
	defer x.free()
	defer func() { _ = x.body.Close() }()
	for {
		data, err := events.next()
		switch {
		case errors.Is(err, errTooLarge):
			if !t.only(errorf(KindTooLarge, "%w", err), t.cfg.MaxMessageSize) {
				t.noise(nil)
			}
		case err != nil:
			now := readError(err, 0)
			if errors.Is(err, io.EOF) {
				now = errorf(KindTruncated, "the session's stream ended without the reply")
			}
			t.fail(now, errorf(KindSessionLost, "the session's stream has ended: %w", err))
			return
		case len(data) > 0:
			t.receive(data)
		}
	}
}

// end does nothing: the server sees the end of its stream.
func (t *sse) end(context.Context, Options) error { return nil }

func (t *sse) drop() {}
