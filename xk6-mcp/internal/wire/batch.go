package wire

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Request is one message of a batch.
type Request struct {
	Method       string
	Params       []byte // a JSON value, or empty
	Notification bool   // has no reply
}

// batch is what is still due of a batch.
type batch struct {
	replies map[string]*Reply // by id
	left    int
}

// Batch sends several requests as one JSON array in one POST, and returns what became of each. The
// error says that it cannot be sent: batches exist in one revision only.
func (s *Session) Batch(ctx context.Context, requests []Request, opts Options) ([]*Reply, error) {
	switch {
	case s.info.ProtocolVersion != BatchVersion:
		return nil, fmt.Errorf("protocol version %s has no batches: connect with %s", s.info.ProtocolVersion, BatchVersion)
	case s.cfg.Transport != StreamableHTTP:
		return nil, fmt.Errorf("batches are sent over %s only", StreamableHTTP)
	case len(requests) == 0:
		return nil, errors.New("a batch needs at least one request")
	}
	opts.Progress, opts.CancelAfter = nil, 0
	replies := make([]*Reply, len(requests))
	due := &batch{replies: map[string]*Reply{}}
	body := []byte{'['}
	for i, r := range requests {
		var id string
		replies[i] = &Reply{Method: r.Method}
		if !r.Notification {
			id = s.nextID()
			due.replies[id] = replies[i]
			due.left++
		}
		params, failure := s.addMeta(r.Params, id, opts)
		if failure != nil {
			return nil, failure
		}
		if i > 0 {
			body = append(body, ',')
		}
		before := len(body)
		body = appendRequest(body, id, r.Method, params)
		replies[i].Sent = len(body) - before
	}
	body = append(body, ']')
	whole := s.note(s.transport.exchange(ctx, &outgoing{body: body, opts: opts, batch: due}))
	for i, r := range replies {
		if r.End.IsZero() { // not answered
			r.End = whole.End
			if r.Err = whole.Err; r.Err == nil && !requests[i].Notification {
				r.Err = errorf(KindTruncated, "the batch ended without this reply")
			}
		}
		r.Start, r.Status, r.Header = whole.Start, whole.Status, whole.Header
		r.Streamed, r.Events, r.NewConnection = whole.Streamed, whole.Events, whole.NewConnection
		r.Timings = whole.Timings
		early := whole.End.Sub(r.End)
		r.Timings.Duration -= early
		r.Timings.Receiving = max(0, r.Timings.Receiving-early)
	}
	return replies, nil
}

// take puts a message into the reply that it is.
func (b *batch) take(m *message, size int, at time.Time) (done bool, failure *Error) {
	if string(m.ID) == "null" && m.Error != nil { // the batch as a whole was refused
		return false, &Error{Kind: m.Error.kind(), RPC: m.Error, Message: m.Error.text()}
	}
	r, ok := b.replies[string(m.ID)]
	if !ok || !r.End.IsZero() {
		return false, errorf(KindMalformed, "a reply to no request of the batch, with the id %s", excerpt(m.ID))
	}
	m.settle(r)
	r.Received, r.End = size, at
	b.left--
	return b.left == 0, nil
}
