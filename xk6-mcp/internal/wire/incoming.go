package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

const codeMethodNotFound = -32601

// mostRounds limits how often one call is made, with more answers each time.
const mostRounds = 10

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

// answerIn returns the params for the next round of a call whose reply asks for input, or nil if it asks
// for none, or for something to which there is no answer.
func (s *Session) answerIn(ctx context.Context, params []byte, r *Reply) []byte {
	if r.Err != nil || !bytes.Contains(r.Result, []byte("input_required")) {
		return nil
	}
	var asked struct {
		ResultType    string `json:"resultType"`
		InputRequests map[string]struct {
			Method string `json:"method"`
		} `json:"inputRequests"`
		RequestState json.RawMessage `json:"requestState"`
	}
	again := map[string]json.RawMessage{}
	if json.Unmarshal(r.Result, &asked) != nil || asked.ResultType != "input_required" || len(asked.InputRequests) == 0 ||
		len(params) > 0 && json.Unmarshal(params, &again) != nil {
		return nil
	}
	answers := map[string]json.RawMessage{}
	var delay time.Duration // of the slowest: the answers are given at the same time
	for key, request := range asked.InputRequests {
		canned, ok := s.cfg.Replies[request.Method]
		if !ok || canned.Error != nil {
			return nil
		}
		if answers[key] = canned.Result; canned.Result == nil {
			answers[key] = json.RawMessage("{}")
		}
		delay = max(delay, canned.Delay)
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil
	case <-s.ctx.Done():
		return nil
	}
	if observe := s.cfg.Observer.ServerRequest; observe != nil {
		for _, request := range asked.InputRequests {
			observe(ServerRequest{Method: request.Method, Duration: time.Since(r.End)})
		}
	}
	if len(asked.RequestState) > 0 {
		again["requestState"] = asked.RequestState
	}
	var err error
	if again["inputResponses"], err = json.Marshal(answers); err != nil {
		return nil
	}
	next, err := json.Marshal(again)
	if err != nil {
		return nil
	}
	return next
}
