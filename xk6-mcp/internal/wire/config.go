package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Revisions of the protocol that are treated in a way of their own.
const (
	// LatestVersion is the newest revision that begins with initialize, and the default.
	LatestVersion = "2025-11-25"
	// StatelessVersion has neither sessions nor initialize: each request says who asks.
	StatelessVersion = "2026-07-28"
	// BatchVersion is the only revision with JSON-RPC batches.
	BatchVersion = "2025-03-26"
	// Auto stands for the newest revision that both sides speak.
	Auto = "auto"
)

// Versions are the revisions that this client speaks, oldest first.
func Versions() []string {
	return []string{"2024-11-05", BatchVersion, "2025-06-18", LatestVersion, StatelessVersion}
}

// Transport is the way messages travel.
type Transport string

// The transports.
const (
	StreamableHTTP Transport = "streamable-http" // each request has a response of its own
	SSE            Transport = "sse"             // HTTP+SSE of 2024-11-05: all replies come on one stream
	Stdio          Transport = "stdio"           // lines to and from a child process
)

// Defaults of Config and ListenOptions.
const (
	DefaultTimeout        = 60 * time.Second
	DefaultMaxMessageSize = 16 << 20
	DefaultQueue          = 1000
)

// Config says where a session is opened and how its requests are sent. The zero value of every field
// is good, but for URL, HTTP and ClientVersion, or Command instead of the first two.
type Config struct {
	// Transport is StreamableHTTP if empty, or Stdio if there is a Command.
	Transport Transport
	// URL of the MCP endpoint: http or https, without credentials.
	URL string
	// HTTP sends the requests. Its connection pool is the sessions' pool.
	HTTP http.RoundTripper
	// Streams sends the requests whose responses go on, such as that of a Stream; if nil, HTTP does.
	Streams http.RoundTripper
	// Command is the server's program and its arguments, for Stdio. Env, as K=V, is added to the
	// environment of this process; Dir is the working folder. Stderr is given each line that the
	// program writes to its standard error.
	Command []string
	Env     []string
	Dir     string
	Stderr  func(line string)

	// Header goes on every HTTP request; the headers of the protocol win over it.
	Header http.Header
	// Auth gives every HTTP request its Authorization header.
	Auth Auth
	// Timeout of one exchange, from the call to the decoded reply.
	Timeout time.Duration
	// MaxMessageSize limits one JSON body, one event and one line, in bytes.
	MaxMessageSize int
	// ProtocolVersion is the revision to offer. With Auto, server/discover is sent first, and
	// initialize after it if the server does not know that.
	ProtocolVersion string

	// ClientVersion is the version in the client's description of itself, ClientInfo another
	// description: a JSON object.
	ClientVersion string
	ClientInfo    json.RawMessage
	// Capabilities of the client, a JSON object. If nil, they are those that Replies need.
	Capabilities json.RawMessage
	// Replies are the answers to requests of the server, by method. ping is always answered; any other
	// method that is not here is answered with the error "method not found".
	Replies  map[string]Canned
	Observer Observer
}

// Canned is the answer to a request of the server: Error, or else Result, or else an empty object.
type Canned struct {
	Result json.RawMessage
	Error  *RPCError
	// Delay stands for the time that a model or a person would take.
	Delay time.Duration
}

// DefaultReply is a plausible answer to a request of the server: a short text for sampling, a refusal
// for elicitation, no roots. There is none for other methods.
func DefaultReply(method string) (Canned, bool) {
	result, ok := map[string]string{
		"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"A canned answer."},"model":"canned","stopReason":"endTurn"}`,
		"elicitation/create":     `{"action":"decline"}`,
		"roots/list":             `{"roots":[]}`,
	}[method]
	return Canned{Result: json.RawMessage(result)}, ok
}

// Observer is told what happens beside the calls. Its functions are called from several goroutines and
// must not block; those that are nil are not called.
type Observer struct {
	// Exchange is an exchange that no call returns: notifications/cancelled, answers to requests of the
	// server, under the method of the request, and the DELETE that ends a session.
	Exchange func(*Reply)
	// Notification is each notification, on whatever stream.
	Notification func(Notification)
	// ServerRequest is a request of the server after it was answered.
	ServerRequest func(ServerRequest)
	// LateReply is a reply to a call of this method that had been given up.
	LateReply func(method string)
	// Noise is what came on the stream of SSE or Stdio and is no message, or a reply to nothing. The
	// bytes are the caller's only until it returns.
	Noise func(data []byte)
	// Spawn is the start of the child process.
	Spawn func(took time.Duration, err error)
	// Exit is its end: expected if it was this client that ended the session.
	Exit func(expected bool, status string)
}

// StreamName says on which kind of stream a notification came.
type StreamName string

// The streams.
const (
	ListenStream StreamName = "listen" // the stream of Session.Listen; the only one of SSE and Stdio
	ReplyStream  StreamName = "reply"  // the response to a request
)

// Notification is a notification of the server.
type Notification struct {
	Method string
	Params json.RawMessage
	At     time.Time
	Stream StreamName
}

// ServerRequest is a request of the server and how it was answered.
type ServerRequest struct {
	Method string
	// Duration from the arrival of the request until the answer was sent, its delay included.
	Duration time.Duration
	Err      *Error
}

// Progress is a progress notification for one call.
type Progress struct {
	Progress float64   `json:"progress"`
	Total    *float64  `json:"total"`
	Message  string    `json:"message"`
	At       time.Time `json:"-"`
}

// Validate returns the configuration with its defaults filled in, or what is wrong with it.
func (c Config) Validate() (Config, error) {
	if c.Transport == "" {
		c.Transport = StreamableHTTP
		if len(c.Command) > 0 {
			c.Transport = Stdio
		}
	}
	switch c.Transport {
	case StreamableHTTP, SSE:
		if len(c.Command) > 0 {
			return c, fmt.Errorf("a command has no transport %q: leave out one of them", c.Transport)
		}
		if err := checkURL(c.URL); err != nil {
			return c, err
		}
	case Stdio:
		if len(c.Command) == 0 || c.Command[0] == "" {
			return c, errors.New("command: want a program and its arguments")
		}
		if c.Auth != nil {
			return c, errors.New("auth: a command has no HTTP headers; give it credentials in its environment")
		}
	default:
		return c, fmt.Errorf("transport %q: want %s, %s or %s", c.Transport, StreamableHTTP, SSE, Stdio)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxMessageSize == 0 {
		c.MaxMessageSize = DefaultMaxMessageSize
	}
	if c.ProtocolVersion == "" {
		c.ProtocolVersion = LatestVersion
	}
	switch {
	case c.Timeout < 0:
		return c, fmt.Errorf("timeout %s: want more than 0", c.Timeout)
	case c.MaxMessageSize < 0:
		return c, fmt.Errorf("maximum message size %d: want more than 0", c.MaxMessageSize)
	case c.ProtocolVersion != Auto && !slices.Contains(Versions(), c.ProtocolVersion):
		return c, fmt.Errorf("protocol version %q: want one of %s, or %s", c.ProtocolVersion, strings.Join(Versions(), ", "), Auto)
	case c.ProtocolVersion == StatelessVersion && c.Transport == SSE:
		return c, fmt.Errorf("protocol version %s does not exist over the transport %s", StatelessVersion, SSE)
	case c.ClientInfo != nil && !isObject(c.ClientInfo):
		return c, fmt.Errorf("client info %s: want a JSON object", excerpt(c.ClientInfo))
	case c.Capabilities != nil && !isObject(c.Capabilities):
		return c, fmt.Errorf("capabilities %s: want a JSON object", excerpt(c.Capabilities))
	}
	for method, reply := range c.Replies {
		if reply.Delay < 0 {
			return c, fmt.Errorf("reply to %s: delay %s: want 0 or more", method, reply.Delay)
		}
		if reply.Result != nil && !isObject(reply.Result) {
			return c, fmt.Errorf("reply to %s: result %s: want a JSON object", method, excerpt(reply.Result))
		}
	}
	return c, nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("url %q: want http://host/path or https://host/path", s)
	case u.User != nil:
		return errors.New("url: put credentials in an Authorization header, not in the URL")
	}
	return nil
}

// clientInfo and capabilities are the JSON objects in which the client describes itself.
func (c *Config) clientInfo() json.RawMessage {
	if c.ClientInfo != nil {
		return c.ClientInfo
	}
	return json.RawMessage(`{"name":"xk6-mcp","version":` + string(appendString(nil, c.ClientVersion)) + `}`)
}

func (c *Config) capabilities() json.RawMessage {
	if c.Capabilities != nil {
		return c.Capabilities
	}
	var members []string
	for _, name := range []string{"elicitation", "roots", "sampling"} {
		for method := range c.Replies {
			if strings.HasPrefix(method, name+"/") {
				members = append(members, `"`+name+`":{}`)
				break
			}
		}
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// Options are what one call may set for itself.
type Options struct {
	// Header goes on this request, over the headers of Config and of the protocol. A header with an
	// empty list of values is left out.
	Header http.Header
	// Timeout replaces that of Config when it is not 0. A call that it ends is not cancelled at the
	// server: that is what CancelAfter is for.
	Timeout time.Duration
	// Meta is a JSON object whose members are set in params._meta.
	Meta json.RawMessage
	// Progress is called, from another goroutine and before the call returns, with each progress
	// notification for this call. It makes the call ask for them.
	Progress func(Progress)
	// CancelAfter makes the call end with KindCancelled when it has no reply after this long. The
	// server is told; see Observer for the notification and for a reply that comes all the same.
	CancelAfter time.Duration
}

// Reply is what became of one request or notification.
type Reply struct {
	Method string
	// Result is the result member as it arrived; nil when there is none.
	Result json.RawMessage
	// Err is nil when a result arrived and no tool error is in it.
	Err *Error
	// Status and Header of the HTTP response; 0 and nil when none arrived.
	Status int
	Header http.Header
	// Streamed says that the response was an event stream, Events how many messages came on it before
	// the reply.
	Streamed bool
	Events   int
	// Sent and Received are the sizes of the JSON-RPC messages, in bytes.
	Sent, Received int
	// Body is what came back, of Raw only.
	Body []byte
	// NewConnection says that the exchange had to open its connection.
	NewConnection bool
	Start, End    time.Time
	Timings       Timings
}
