package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/mcp-parity/mcp-parity/contract"
)

const (
	maxAnswer = 64 << 20 // bytes of one answer that are read

	// streamGrace is how long a stream may stay open after the reply. A server should close it at once; one that does not
	// wastes a connection but has answered.
	streamGrace = 2 * time.Second

	// largeBody is from where on a request gets a connection of its own: a server may refuse it before it has read it all,
	// and closes the connection then.
	largeBody = 1 << 20
)

// answer is what came back for one request.
type answer struct {
	status  int
	header  http.Header
	body    []byte   // of an answer that is no stream
	stream  bool     // whether the answer was an SSE stream
	replies [][]byte // JSON-RPC responses in a stream
	elapsed time.Duration
}

// mediaType is the content type without its parameters.
func (a answer) mediaType() string {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return a.header.Get("Content-Type")
	}
	return media
}

// wire carries requests to one target.
type wire struct {
	target  Target
	timeout time.Duration
	pooled  *http.Transport
	single  *http.Transport // for large bodies
}

func newWire(t Target, timeout time.Duration) *wire {
	pooled := &http.Transport{
		DisableCompression:  true,
		MaxIdleConnsPerHost: 128,
		// Shorter than any server's: a request must not meet a connection that the server is about to close.
		IdleConnTimeout: 2 * time.Second,
	}
	single := &http.Transport{
		DisableCompression: true,
		DisableKeepAlives:  true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return patientConn{conn}, err
		},
	}
	return &wire{target: t, timeout: timeout, pooled: pooled, single: single}
}

func (w *wire) close() {
	w.pooled.CloseIdleConnections()
	w.single.CloseIdleConnections()
}

// patientConn keeps quiet about a connection that the server closed while the request was being sent, so that the
// transport goes on to read the answer that the server may have sent before. If there is none, reading fails.
type patientConn struct{ net.Conn }

func (c patientConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}

// send makes one exchange. An error means that no complete answer came.
func (w *wire) send(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, fmt.Errorf("no complete answer within %v", w.timeout))
	defer cancel()
	path := r.path
	if r.mcp() {
		path = w.target.mcpPath()
	}
	var body io.Reader = bytes.NewReader(r.body)
	if r.chunked {
		body = io.MultiReader(body) // hides the length
	}
	req, err := http.NewRequestWithContext(ctx, r.method, strings.TrimSuffix(w.target.URL, "/")+path, body)
	if err != nil {
		return answer{}, err
	}
	req.Header = r.header.Clone()
	req.Header.Set("User-Agent", "mcp-parity")
	for name, value := range w.target.Headers {
		req.Header.Set(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	transport := w.pooled
	if len(r.body) > largeBody {
		transport = w.single
	}
	start := time.Now()
	res, err := transport.RoundTrip(req) // and no http.Client: no redirects, no cookies
	if err != nil {
		return answer{}, exchangeError(ctx, err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	a.stream = a.mediaType() == "text/event-stream"
	switch {
	case a.stream && r.method == http.MethodGet: // has no reply and no end
	case a.stream:
		a.replies, err = readStream(res.Body, func() {
			a.elapsed = time.Since(start)
			// The stream should end now. If it does not, that costs a connection, but the reply counts.
			time.AfterFunc(streamGrace, cancel)
		})
	default:
		a.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
		if len(a.body) > maxAnswer {
			err = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
		}
	}
	if err != nil {
		return answer{}, exchangeError(ctx, err)
	}
	if a.elapsed == 0 {
		a.elapsed = time.Since(start)
	}
	return a, nil
}

// exchangeError prefers the reason why the exchange was given up over what that did to the connection.
func exchangeError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// readStream returns the JSON-RPC responses of an SSE stream and calls replied at the first one; notifications and
// requests of the server are passed over.
func readStream(body io.Reader, replied func()) ([][]byte, error) {
	var replies [][]byte
	for event, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxAnswer}) {
		if err != nil {
			if len(replies) > 0 {
				break // the grace is over
			}
			return nil, err
		}
		if event.Data == "" || !isReply([]byte(event.Data)) {
			continue
		}
		if len(replies) == 0 {
			replied()
		}
		replies = append(replies, []byte(event.Data))
	}
	if len(replies) == 0 {
		return nil, errors.New("the stream ended without a reply")
	}
	return replies, nil
}

// client is one MCP client: it numbers its requests, and on a stateful target it has a session.
type client struct {
	sender
	wire   *wire
	lastID int64
}

// firstID keeps the gate's own ids apart from the small ones that vectors give.
const firstID = 1_000_000

func newClient(w *wire, profile string) *client {
	version := profile
	if profile == contract.Revision20251125 && w.target.version != "" {
		version = w.target.version
	}
	return &client{sender: sender{profile: profile, version: version}, wire: w, lastID: firstID}
}

func (c *client) nextID() int64 {
	c.lastID++
	return c.lastID
}

// rpc sends a message of the gate's own.
func (c *client) rpc(ctx context.Context, rpc contract.RPC) (reply, error) {
	req, err := c.message(rpc, routingName(rpc), c.nextID())
	if err != nil {
		return reply{}, err
	}
	a, err := c.wire.send(ctx, req)
	if err != nil {
		return reply{}, err
	}
	return read(a), nil
}

// initialize asks the target for revision 2025-11-25.
func (c *client) initialize(ctx context.Context) (reply, error) {
	params := `{"protocolVersion":"` + contract.Revision20251125 + `","capabilities":{},"clientInfo":{"name":"mcp-parity","version":"1.0.0"}}`
	return c.rpc(ctx, contract.RPC{Method: "initialize", Params: &params})
}

// open begins a session.
func (c *client) open(ctx context.Context) error {
	r, err := c.initialize(ctx)
	if err != nil {
		return err
	}
	session := r.header.Get("Mcp-Session-Id")
	if r.status != http.StatusOK || session == "" {
		return &noSessionError{r}
	}
	c.session = session
	r, err = c.rpc(ctx, contract.RPC{Method: "notifications/initialized", Notification: true})
	if err != nil {
		return err
	}
	if r.status/100 != 2 { // that it is 202 is asked by a vector
		return &noSessionError{r}
	}
	return nil
}

// end ends the session, if there is one. The answer does not matter: whether DELETE works is what vectors ask.
func (c *client) end(ctx context.Context) {
	if c.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = c.wire.send(ctx, request{method: http.MethodDelete, path: mcpPath, header: c.usualHeaders()})
	c.session = ""
}

// noSessionError means that the target answered, but did not begin a session.
type noSessionError struct{ reply reply }

func (e *noSessionError) Error() string {
	return "no session from initialize and notifications/initialized: " + e.reply.describe()
}
