package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/stand"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// upstreamPort is the usual port of the upstream service, which is also the servers' default for UPSTREAM_URL.
const upstreamPort = 8090

// standJSON is what `up --json` prints, on one line.
type standJSON struct {
	Backend  string       `json:"backend"`
	Upstream string       `json:"upstream"`
	Servers  []serverJSON `json:"servers"`
}

type serverJSON struct {
	ID string `json:"id"`
	// URL is the base of all paths, MCP that of the MCP endpoint.
	URL string `json:"url"`
	MCP string `json:"mcp"`
}

func upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up [subject…]",
		Short: "Start the servers and keep them until Ctrl-C",
		Long: `Start the upstream service and the servers on their usual ports, print their URLs and stay until Ctrl-C.
Without subjects, every server of servers/ is started without its variants.`,
		Example: `  parity up
  parity up go go/stateful --port-base 9000`,
	}
	kind := backendFlag(cmd)
	base := cmd.Flags().Int("port-base", 0, "give upstream this port and the servers those after it, in order; variants need it, as they share their subject's usual port")
	asJSON := cmd.Flags().Bool("json", false, "print one line of JSON, for scripts")
	cmd.RunE = func(cmd *cobra.Command, names []string) (err error) {
		ctx := cmd.Context()
		p, err := open(ctx, *kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.backend.Close()) }()
		targets, err := subject.Select(p.subjects, names)
		if err != nil {
			return err
		}
		plan := stand.Plan{Backend: p.backend, Upstream: backend.Upstream(p.root), Targets: targets}
		if plan.Upstream.Port, plan.Ports, err = ports(targets, *base); err != nil {
			return err
		}
		if err := stand.Build(ctx, plan, func(name string) { progress("building " + name) }); err != nil {
			return err
		}
		err = stand.With(ctx, plan, func(ctx context.Context, s *stand.Stand) error {
			if err := printStand(p.backend.Name(), s, *asJSON); err != nil {
				return err
			}
			progress("running; Ctrl-C stops everything")
			<-ctx.Done()
			return nil
		})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // Ctrl-C while starting
		}
		return err
	}
	return cmd
}

// ports returns the port of the upstream service and those of the targets.
func ports(targets []subject.Target, base int) (upstream int, servers []int, err error) {
	if base != 0 {
		if last := base + len(targets); base < 1024 || last > 65535 {
			return 0, nil, fmt.Errorf("--port-base %d: ports %d to %d are needed; choose a base from 1024 to %d", base, base, last, 65535-len(targets))
		}
		for i := range targets {
			servers = append(servers, base+1+i)
		}
		return base, servers, nil
	}
	owner := map[int]string{}
	for _, t := range targets {
		if other, ok := owner[t.Port]; ok {
			return 0, nil, fmt.Errorf("%s and %s share port %d; give them others with --port-base 9000", other, t.ID(), t.Port)
		}
		owner[t.Port] = t.ID()
		servers = append(servers, t.Port)
	}
	return upstreamPort, servers, nil
}

func printStand(kind string, s *stand.Stand, asJSON bool) error {
	if asJSON {
		out := standJSON{Backend: kind, Upstream: s.Upstream.URL()}
		for _, server := range s.Servers {
			out.Servers = append(out.Servers, serverJSON{ID: server.ID(), URL: server.URL(), MCP: server.URL() + "/mcp"})
		}
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, server := range s.Servers {
		fmt.Fprintf(table, "%s\t%s/mcp\t%s\n", server.ID(), server.URL(), server.Title)
	}
	fmt.Fprintf(table, "upstream\t%s\tthe service that fetch_external_data calls\n", s.Upstream.URL())
	return table.Flush()
}
