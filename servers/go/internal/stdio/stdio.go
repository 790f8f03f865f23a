// Package stdio serves MCP over standard input and output.
package stdio

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server serves one client, the parent process.
type Server struct {
	mcp       *mcp.Server
	transport mcp.Transport
	stopping  context.Context
	stop      context.CancelFunc
	done      chan struct{}
}

// New returns a server that has not started.
func New(mcpServer *mcp.Server) *Server { return newServer(mcpServer, &mcp.StdioTransport{}) }

func newServer(mcpServer *mcp.Server, transport mcp.Transport) *Server {
	stopping, stop := context.WithCancel(context.Background())
	return &Server{mcpServer, transport, stopping, stop, make(chan struct{})}
}

// Start serves in the background and calls ended when the client closes its
// side, with nil, or when the stream breaks.
func (s *Server) Start(ended func(error)) {
	go func() {
		defer close(s.done)
		ended(s.mcp.Run(context.Background(), patientTransport{s.transport, s.stopping}))
	}()
}

// Stop reads no more and waits for calls in flight, as long as ctx allows.
func (s *Server) Stop(ctx context.Context) error {
	s.stop()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patientTransport holds back the end of the input until every call has its
// answer. The SDK cancels the calls in flight when it reads the end, and drops
// their answers when it is told to close: `server < requests` would lose some.
type patientTransport struct {
	mcp.Transport
	stopping context.Context
}

func (t patientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConnection{Connection: c, stopping: t.stopping}, nil
}

type patientConnection struct {
	mcp.Connection
	stopping context.Context
	calls    sync.WaitGroup // calls without an answer
}

func (c *patientConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	message, err := c.Connection.Read(ctx)
	if err != nil {
		c.calls.Wait()
		if c.stopping.Err() != nil {
			err = io.EOF
		}
		return nil, err
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.calls.Add(1)
	}
	return message, nil
}

func (c *patientConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	if _, ok := message.(*jsonrpc.Response); ok {
		defer c.calls.Done()
	}
	return c.Connection.Write(ctx, message)
}
