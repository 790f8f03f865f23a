package testserver

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// stream is the event stream of one session of HTTP+SSE.
type stream struct {
	mu   sync.Mutex
	open *exchange
}

// send sends bytes as they are.
func (s *stream) send(data string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open.chunk(data)
}

// SSEFaults are the faults of HTTP+SSE by the name of the tool to call.
func SSEFaults() map[string]Fault { return maps.Clone(sseFaults) }

var sseFaults = map[string]Fault{
	"duplicate id":         {play: onStream("data: "+good+"\n\n", "data: "+good+"\n\n")},
	"odd line ends":        {play: onStream("event: message\r", "data: "+good+"\r\r")},
	"split UTF-8":          {play: onStream("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"\xf0\x9f", "\x98\x80\"}}\n\n")},
	"server request":       {play: onStream(`data: {"jsonrpc":"2.0","id":"x","method":"ping"}`+"\n\n", "data: "+good+"\n\n")},
	"reply before 202":     {play: replyBeforeAccepted},
	"other id first":       {play: onStream(`data: {"jsonrpc":"2.0","id":99999,"result":{}}`+"\n\n", "data: "+good+"\n\n")},
	"truncated JSON":       {Kind: "truncated", play: onStream("data: " + good[:20] + "\n\n")},
	"broken event":         {Kind: "malformed", play: onStream("data: {oops}\n\n")},
	"too large":            {Kind: "too_large", play: onStream(`data: {"jsonrpc":"2.0","id":ID,"result":{"a":"` + strings.Repeat("x", 2*Limit) + "\"}}\n\n")},
	"401":                  {Kind: "unauthorized", play: status(401, "text/plain", "")},
	"429":                  {Kind: "rate_limited", play: status(429, "text/plain", "", "Retry-After: 1")},
	"500":                  {Kind: "http", play: status(500, "text/plain", "")},
	"reset before headers": {Kind: "reset", play: (*exchange).reset},
	"silence":              {Kind: "timeout", Hangs: true, play: (*exchange).hang},
	"accepted and no more": {Kind: "timeout", Hangs: true, play: status(http.StatusAccepted, "", "")},
	"stream ends":          {Kind: "truncated", Lost: true, play: endStream(false)},
	"stream is reset":      {Kind: "reset", Lost: true, play: endStream(true)},
}

func onStream(parts ...string) func(*exchange) bool {
	return func(x *exchange) bool {
		ok := x.respond(http.StatusAccepted, "", "")
		for _, part := range parts {
			x.out.send(x.fill(part))
		}
		return ok
	}
}

func replyBeforeAccepted(x *exchange) bool {
	x.out.send(x.fill("data: " + good + "\n\n"))
	return x.respond(http.StatusAccepted, "", "")
}

// endStream ends the stream after the request was accepted.
func endStream(reset bool) func(*exchange) bool {
	return func(x *exchange) bool {
		ok := x.respond(http.StatusAccepted, "", "")
		x.out.mu.Lock()
		defer x.out.mu.Unlock()
		if reset {
			x.out.open.reset()
		} else {
			x.out.open.finish()
		}
		_ = x.out.open.conn.Close()
		return ok
	}
}

// openStream begins a session.
func (x *exchange) openStream() bool {
	id := fmt.Sprint(x.server.sessions.Add(1))
	s := &stream{open: x}
	x.server.mu.Lock()
	x.server.streams[id] = s
	x.server.mu.Unlock()
	x.start(streamType, "event: endpoint\ndata: /messages?session="+id+"\n\n")
	return x.hang()
}

// post takes a message of a session and answers it on its stream.
func (x *exchange) post(session string) bool {
	x.server.mu.Lock()
	x.out = x.server.streams[session]
	x.server.mu.Unlock()
	switch {
	case x.out == nil:
		return x.respond(http.StatusNotFound, "text/plain", "no such session")
	case x.message.Method == "tools/call":
		x.server.count(x.message.Params.Name)
		if fault, ok := sseFaults[x.message.Params.Name]; ok {
			return fault.play(x)
		}
	}
	ok := x.respond(http.StatusAccepted, "", "")
	if len(x.message.ID) > 0 && x.message.Method != "" {
		x.out.send("event: message\ndata: " + x.good() + "\n\n")
	}
	return ok
}
