// Package httpserver serves MCP and its neighbours over HTTP.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/config"
)

const (
	readHeaderTimeout = 10 * time.Second
	// idleTimeout is longer than a load generator pauses, so that the server
	// does not close a connection that is about to be used.
	idleTimeout = 2 * time.Minute
	// sessionTimeout ends the sessions of clients that left without DELETE.
	sessionTimeout = 5 * time.Minute
	// drainTimeout is how long a shutdown waits for calls in flight.
	drainTimeout = 10 * time.Second
)

// Server is the HTTP server: start it once, stop it once.
type Server struct {
	http   *http.Server
	logger *slog.Logger
}

// New returns a server for what cfg asks of it.
func New(cfg config.Config, mcpServer *mcp.Server, logger *slog.Logger) *Server {
	drain := newDrain()
	server := &http.Server{
		Addr:              cfg.Address(),
		Handler:           newHandler(cfg, mcpServer, drain),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(drain.start)
	return &Server{http: server, logger: logger}
}

// Start listens and then serves in the background. It calls failed if serving
// ends other than by Stop.
func (s *Server) Start(ctx context.Context, failed func()) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.http.Addr)
	if err != nil {
		return fmt.Errorf("listening on HOST and PORT (%s), which must be an address of this machine and a free port: %w", s.http.Addr, err)
	}
	s.logger.Info("listening", "address", listener.Addr().String())
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("serving ended", "error", err)
			failed()
		}
	}()
	return nil
}

// Stop stops accepting and waits up to 10 s for calls in flight; those that
// take longer are cut off.
func (s *Server) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.logger.Warn("calls still in flight are cut off", "after", drainTimeout)
		return s.http.Close()
	}
	return err
}

func newHandler(cfg config.Config, mcpServer *mcp.Server, drain *drain) http.Handler {
	getServer := func(*http.Request) *mcp.Server { return mcpServer }
	mux := http.NewServeMux()
	if cfg.Transport == config.SSE {
		sdk := mcp.NewSSEHandler(getServer, &mcp.SSEOptions{DisableLocalhostProtection: true})
		mux.Handle("/sse", guard(cfg.Host, drain.end(sdk)))
	} else {
		stateful := cfg.Sessions == config.Stateful
		sdk := mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
			Stateless:      !stateful,
			JSONResponse:   true,
			SessionTimeout: sessionTimeout,
			// The guard does it, and knows HOST.
			DisableLocalhostProtection: true,
		})
		mux.Handle("/mcp", guard(cfg.Host, &streamable{
			sdk:      sdk,
			stateful: stateful,
			versions: speaks(stateful),
			drain:    drain,
		}))
	}
	mux.HandleFunc("GET /healthz", text("ok\n"))
	mux.HandleFunc("GET /hello", text("Hello!"))
	mux.HandleFunc("POST /floor", floor)
	mux.Handle("GET /metrics", metrics())
	return mux
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s) // the client has gone; there is nobody to tell
	}
}

func metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
}
