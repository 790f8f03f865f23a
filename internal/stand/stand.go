// Package stand sets up what a check or a run needs: the upstream service, then the servers; and takes it down in reverse, also
// after an error and when the context is cancelled.
package stand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/fx"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// startTimeout and stopTimeout bound starting and stopping everything together.
const (
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
)

// Plan is what to set up.
type Plan struct {
	Backend backend.Backend
	// Upstream is the service that fetch_external_data calls.
	Upstream backend.Service
	// Targets are the servers; none for a stand of the upstream service alone.
	Targets []subject.Target
	// Ports are those of the targets, in the same order; nil for free ones.
	Ports []int
}

// Stand is what runs.
type Stand struct {
	Upstream backend.Instance
	// Servers are in the order of the plan's targets.
	Servers []Server
}

// Server is a running target.
type Server struct {
	subject.Target
	backend.Instance
}

// With sets up the plan, calls use and takes everything down again. The error is that of the set-up, of use and of the
// take-down, joined.
func With(ctx context.Context, plan Plan, use func(context.Context, *Stand) error) error {
	var upstream *running
	var servers []*running
	app := fx.New(
		fx.NopLogger,
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(stopTimeout),
		fx.Supply(plan),
		fx.Provide(newUpstream, newServers),
		fx.Populate(&upstream, &servers),
	)
	if err := app.Err(); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, app.StartTimeout())
	defer cancel()
	if err := app.Start(starting); err != nil { // fx has stopped what it had started
		return err
	}
	s := &Stand{Upstream: upstream.Instance}
	for i, server := range servers {
		s.Servers = append(s.Servers, Server{plan.Targets[i], server.Instance})
	}
	err := use(ctx, s)
	// Stopping must go on after Ctrl-C has cancelled ctx.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.StopTimeout())
	defer cancel()
	return errors.Join(err, app.Stop(stopping))
}

// Build builds the upstream service and the targets' services, one after the other: builds use all cores themselves.
func Build(ctx context.Context, plan Plan, progress func(name string)) error {
	built := map[string]bool{}
	services := []backend.Service{plan.Upstream}
	for _, t := range plan.Targets {
		if !built[t.Name] { // variants share their subject's build
			built[t.Name] = true
			services = append(services, backend.ServiceOf(t, ""))
		}
	}
	for _, service := range services {
		progress(service.Name)
		if err := plan.Backend.Build(ctx, service); err != nil {
			return fmt.Errorf("build %s: %w", service.Name, err)
		}
	}
	return nil
}

// running is an instance that fx starts and stops.
type running struct {
	backend.Instance
}

func newUpstream(lc fx.Lifecycle, plan Plan) *running {
	r := &running{}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) (err error) {
			r.Instance, err = plan.Backend.Start(ctx, plan.Upstream)
			return err
		},
		OnStop: r.stop,
	})
	return r
}

// newServers starts the servers side by side: most of them spend their start-up waiting.
func newServers(lc fx.Lifecycle, plan Plan, upstream *running) []*running {
	servers := make([]*running, len(plan.Targets))
	for i := range servers {
		servers[i] = &running{}
	}
	stopAll := func(ctx context.Context) error {
		var group errgroup.Group
		for _, server := range servers {
			group.Go(func() error { return server.stop(ctx) })
		}
		return group.Wait()
	}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			group, groupCtx := errgroup.WithContext(ctx)
			for i, t := range plan.Targets {
				group.Go(func() (err error) {
					service := backend.ServiceOf(t, upstream.PeerURL())
					if plan.Ports != nil {
						service.Port = plan.Ports[i]
					}
					if servers[i].Instance, err = plan.Backend.Start(groupCtx, service); err != nil {
						return fmt.Errorf("start %s: %w", t.ID(), err)
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				// fx stops only what a finished hook started.
				return errors.Join(err, stopAll(context.WithoutCancel(ctx)))
			}
			return nil
		},
		OnStop: stopAll,
	})
	return servers
}

// stop ends the instance if there is one. What a server's exit code means is for the gate to say.
func (r *running) stop(ctx context.Context) error {
	if r.Instance == nil {
		return nil
	}
	_, err := r.Stop(ctx)
	return err
}
