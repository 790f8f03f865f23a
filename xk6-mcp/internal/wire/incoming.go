package wire

import (
	"encoding/json"
	"time"
)

const codeMethodNotFound = -32601

// incoming takes a message of the server that is no reply. It returns the notification that it was.
func (s *Session) incoming(m *message, stream StreamName) (n Notification, ok bool) {
	now := time.Now()
	if len(m.ID) > 0 && string(m.ID) != "null" {
		request := *m
		s.spawn(func() { s.answer(&request, now) })
		return n, false
	}
	n = Notification{Method: m.Method, Params: m.Params, At: now, Stream: stream}
	if m.Method == "notifications/progress" {
		s.progressed(n)
	}
	if observe := s.cfg.Observer.Notification; observe != nil {
		observe(n)
	}
	return n, true
}

// progressed hands a progress notification to the call that asked for it.
func (s *Session) progressed(n Notification) {
	var p struct {
		Progress
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(n.Params, &p) != nil {
		return // the observer has it
	}
	if f, ok := s.progress.Load(string(p.Token)); ok {
		p.At = n.At
		f.(func(Progress))(p.Progress)
	}
}

// answer sends the canned reply to a request of the server.
func (s *Session) answer(m *message, arrived time.Time) {
	canned, ok := s.cfg.Replies[m.Method]
	switch {
	case ok:
	case m.Method == "ping":
	default:
		canned.Error = &RPCError{Code: codeMethodNotFound, Message: "no reply is configured for " + m.Method}
	}
	if canned.Delay > 0 {
		select {
		case <-time.After(canned.Delay):
		case <-s.ctx.Done():
			return
		}
	}
	message := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *RPCError       `json:"error,omitempty"`
	}{"2.0", m.ID, canned.Result, canned.Error}
	switch {
	case message.Error != nil:
		message.Result = nil
	case message.Result == nil:
		message.Result = json.RawMessage("{}")
	}
	var r *Reply
	if body, err := json.Marshal(message); err != nil {
		r = failed(m.Method, errorf(KindMalformed, "the reply to %s: %w", m.Method, err))
	} else {
		r = s.note(s.transport.exchange(s.ctx, &outgoing{method: m.Method, body: body}))
	}
	if observe := s.cfg.Observer.Exchange; observe != nil {
		observe(r)
	}
	if observe := s.cfg.Observer.ServerRequest; observe != nil {
		observe(ServerRequest{Method: m.Method, Duration: r.End.Sub(arrived), Err: r.Err})
	}
}
