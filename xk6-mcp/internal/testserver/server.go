// Package testserver is an MCP server that misbehaves on request. It writes the bytes of its answers
// itself, so that it can send what no HTTP or JSON library would: the name of the tool that is called
// chooses the fault, and every other call is answered well.
package testserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Server is a running server. It speaks Streamable HTTP at /mcp and HTTP+SSE at /sse.
type Server struct {
	listener net.Listener
	wg       sync.WaitGroup
	sessions atomic.Int64

	mu        sync.Mutex
	conns     map[net.Conn]struct{}
	forgotten map[string]bool          // sessions that were lost
	cancelled map[string]chan struct{} // by session and request id
	answers   map[string]chan message  // of the client to requests of this server, by session
	streams   map[string]*stream       // of HTTP+SSE, by session
	calls     map[string]int           // of each tool
}

// message is any JSON-RPC message of a client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		ProtocolVersion string          `json:"protocolVersion"`
		RequestID       json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

// Start starts a server on a free port of the loopback interface.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		listener: l, conns: map[net.Conn]struct{}{}, forgotten: map[string]bool{},
		cancelled: map[string]chan struct{}{}, answers: map[string]chan message{},
		streams: map[string]*stream{}, calls: map[string]int{},
	}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = struct{}{}
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(conn) })
		}
	})
	return s, nil
}

// Addr is the server's host and port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Calls is how often a tool has been called.
func (s *Server) Calls(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[tool]
}

// Close ends the server and its connections.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// exchange is one request and what a fault may do with it.
type exchange struct {
	server  *Server
	conn    net.Conn
	in      *bufio.Reader
	session string
	message message
	out     *stream // of HTTP+SSE
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		x := &exchange{server: s, conn: conn, in: in, session: req.Header.Get("Mcp-Session-Id")}
		if len(body) > 0 && json.Unmarshal(body, &x.message) != nil {
			x.respond(http.StatusBadRequest, "text/plain", "not JSON")
			continue
		}
		if !x.handle(req) {
			return
		}
	}
}

// handle answers one request. It reports whether the connection can be used for another.
func (x *exchange) handle(req *http.Request) bool {
	switch {
	case req.URL.Path == "/sse":
		return x.openStream()
	case req.URL.Path == "/messages":
		return x.post(req.URL.Query().Get("session"))
	case req.Method == http.MethodDelete:
		return x.respond(http.StatusOK, "", "")
	case req.Method == http.MethodGet:
		return x.start("text/event-stream", "") && x.hang()
	case x.server.isForgotten(x.session):
		return x.respond(http.StatusNotFound, "text/plain", "no such session")
	case x.message.Method == "tools/call":
		x.server.count(x.message.Params.Name)
		if play, ok := faults[x.message.Params.Name]; ok {
			return play.play(x)
		}
	case x.message.Method == "":
		x.server.answered(x.session, x.message)
		return x.respond(http.StatusAccepted, "", "")
	case x.message.Method == "notifications/cancelled":
		x.server.cancel(x.session, x.message.Params.RequestID)
	}
	if len(x.message.ID) == 0 {
		return x.respond(http.StatusAccepted, "", "")
	}
	if x.message.Method == "initialize" {
		id := fmt.Sprintf("session-%d", x.server.sessions.Add(1))
		return x.respond(http.StatusOK, "application/json", x.good(), "Mcp-Session-Id: "+id)
	}
	return x.respond(http.StatusOK, "application/json", x.good())
}

// good is the right answer.
func (x *exchange) good() string {
	return x.fill(`{"jsonrpc":"2.0","id":ID,"result":` + result(x.message) + `}`)
}

func result(m message) string {
	if m.Method == "initialize" {
		return `{"protocolVersion":"` + m.Params.ProtocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"testserver","version":"1"}}`
	}
	return `{"content":[{"type":"text","text":"fine"}]}`
}

// fill puts the request's id where ID stands.
func (x *exchange) fill(s string) string { return strings.ReplaceAll(s, "ID", string(x.message.ID)) }

// respond writes a complete response; extra are lines of its header.
func (x *exchange) respond(status int, contentType, body string, extra ...string) bool {
	if contentType != "" {
		extra = append(extra, "Content-Type: "+contentType)
	}
	extra = append(extra, fmt.Sprintf("Content-Length: %d", len(body)))
	return x.write(fmt.Sprintf("HTTP/1.1 %d %s\r\n%s\r\n\r\n%s", status, http.StatusText(status), strings.Join(extra, "\r\n"), body))
}

// write writes bytes as they are.
func (x *exchange) write(s string) bool {
	_, err := io.WriteString(x.conn, s)
	return err == nil
}

// start begins a response in chunks, chunk sends one, and finish ends it.
func (x *exchange) start(contentType, first string) bool {
	return x.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "+contentType+"\r\n\r\n") &&
		(first == "" || x.chunk(first))
}

func (x *exchange) chunk(s string) bool { return x.write(fmt.Sprintf("%x\r\n%s\r\n", len(s), s)) }

func (x *exchange) finish() bool { return x.write("0\r\n\r\n") }

// events answers with an event stream, each part in a packet of its own.
func (x *exchange) events(parts ...string) bool {
	ok := x.start("text/event-stream", "")
	for _, part := range parts {
		ok = ok && x.chunk(x.fill(part))
	}
	return ok && x.finish()
}

// hang answers nothing more until the client goes.
func (x *exchange) hang() bool {
	_, _ = x.in.ReadByte()
	return false
}

// reset ends the connection in the rude way.
func (x *exchange) reset() bool {
	if tcp, ok := x.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return false
}

func (s *Server) count(tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[tool]++
}

func (s *Server) isForgotten(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten[session]
}

func (s *Server) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten[session] = true
}

// cancellation is closed when the client cancels the request.
func (s *Server) cancellation(session string, id json.RawMessage) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := session + "/" + string(id)
	if s.cancelled[key] == nil {
		s.cancelled[key] = make(chan struct{})
	}
	return s.cancelled[key]
}

func (s *Server) cancel(session string, id json.RawMessage) {
	c := s.cancellation(session, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// answersOf has the client's answers to requests of this server.
func (s *Server) answersOf(session string) chan message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[session] == nil {
		s.answers[session] = make(chan message, 16)
	}
	return s.answers[session]
}

func (s *Server) answered(session string, m message) {
	select {
	case s.answersOf(session) <- m:
	default: // nobody asked
	}
}
