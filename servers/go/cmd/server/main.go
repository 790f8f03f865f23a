// Command server is an MCP server that serves the contract's four tools, built
// on the official Go SDK. The environment configures it, see the README.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/config"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/httpserver"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/mcpserver"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/stdio"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/tools"
)

// Exit codes.
const (
	exitFailed = 1 // it ran, and then failed
	exitUsage  = 2 // it could not run as asked
)

// stopTimeout leaves the HTTP server its whole drain time.
const stopTimeout = 12 * time.Second

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	cfg, err := config.Load(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	switch {
	case len(args) == 0:
		return serve(cfg)
	case len(args) == 1 && args[0] == "healthcheck":
		return healthcheck(cfg)
	}
	fmt.Fprintln(os.Stderr, "usage: server [healthcheck]; the environment configures it: HOST, PORT, UPSTREAM_URL, MCP_SESSIONS, MCP_TRANSPORT, WORKERS, LOG_LEVEL")
	return exitUsage
}

func serve(cfg config.Config) int {
	app := fx.New(
		fx.Supply(cfg),
		fx.Provide(newLogger, newUpstream, mcpserver.New),
		fx.WithLogger(newEventLogger),
		transport(cfg),
	)
	if err := app.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	signal := <-app.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := app.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stopping:", err)
		return exitFailed
	}
	return signal.ExitCode
}

// transport wires the way that clients reach the server.
func transport(cfg config.Config) fx.Option {
	if cfg.Transport == config.Stdio {
		return fx.Options(fx.Provide(stdio.New), fx.Invoke(runStdio))
	}
	return fx.Options(fx.Provide(httpserver.New), fx.Invoke(runHTTP))
}

func runStdio(lc fx.Lifecycle, shutdowner fx.Shutdowner, server *stdio.Server, logger *slog.Logger) {
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			server.Start(func(err error) {
				code := 0
				if err != nil {
					logger.Error("the stream broke", "error", err)
					code = exitFailed
				}
				_ = shutdowner.Shutdown(fx.ExitCode(code)) // fails only when nothing waits
			})
			return nil
		},
		OnStop: server.Stop,
	})
}

func runHTTP(lc fx.Lifecycle, shutdowner fx.Shutdowner, server *httpserver.Server) {
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			return server.Start(ctx, func() {
				_ = shutdowner.Shutdown(fx.ExitCode(exitFailed)) // fails only when nothing waits
			})
		},
		OnStop: server.Stop,
	})
}

// newLogger logs to standard error; on stdio, standard output is the protocol's.
func newLogger(cfg config.Config) *slog.Logger {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	if cfg.Workers > 1 {
		logger.Warn("WORKERS has no effect: one Go process uses every CPU it is given", "workers", cfg.Workers)
	}
	return logger
}

func newUpstream(lc fx.Lifecycle, cfg config.Config) *tools.Upstream {
	upstream := tools.NewUpstream(cfg.UpstreamURL)
	lc.Append(fx.StopHook(upstream.Close))
	return upstream
}

func newEventLogger(logger *slog.Logger) fxevent.Logger {
	events := &fxevent.SlogLogger{Logger: logger}
	events.UseLogLevel(slog.LevelDebug)
	// serve prints the error itself, once and short.
	events.UseErrorLevel(slog.LevelDebug)
	return events
}

// healthcheck asks a server with the same environment whether it is healthy; a
// container image without a shell needs it.
func healthcheck(cfg config.Config) int {
	host := cfg.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	client := &http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get("http://" + net.JoinHostPort(host, strconv.Itoa(cfg.Port)) + "/healthz")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, "/healthz:", resp.Status)
		return exitFailed
	}
	return 0
}
