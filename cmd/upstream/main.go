// Command upstream serves [github.com/mcp-parity/mcp-parity/internal/upstream] on HOST:PORT, 127.0.0.1:8090 unless they are set.
//
// With the argument "healthcheck" it asks such a service on the same HOST and PORT whether it is there instead, for an image without
// other programs.
package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

// drain is how long requests in flight may take after SIGTERM.
const drain = 10 * time.Second

func main() {
	host, port := cmp.Or(os.Getenv("HOST"), "127.0.0.1"), cmp.Or(os.Getenv("PORT"), "8090")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		fmt.Fprintf(os.Stderr, "upstream: PORT is %q; it must be from 1 to 65535\n", port)
		os.Exit(2)
	}
	run := serve
	switch {
	case len(os.Args) == 2 && os.Args[1] == "healthcheck":
		run = healthcheck
	case len(os.Args) != 1:
		fmt.Fprintln(os.Stderr, "usage: [HOST=address] [PORT=port] upstream [healthcheck]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, net.JoinHostPort(host, port)); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// serve serves until ctx ends.
func serve(ctx context.Context, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: upstream.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 5 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(os.Stderr, "upstream listens on http://%s\n", listener.Addr())

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		// A /delay may be longer than anybody should wait.
		return server.Close()
	}
	return nil
}

func healthcheck(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz answered %s", resp.Status)
	}
	return nil
}
