package check

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/stand"
)

// shutdown is the call that is in flight when a server gets SIGTERM.
var shutdown = contract.Vector{
	Name:     "shutdown/in-flight",
	Why:      "on SIGTERM a server finishes what is in flight and exits with 0",
	Parallel: 1,
	Step: contract.Step{
		Call:   &contract.Call{Tool: "simulate_db_query", Arguments: new(`{"query":"in flight","delay_ms":3000,"rows":1}`)},
		Expect: &contract.Expect{Result: new(`{"query":"in flight","delay_ms":3000,"rows":[{"id":0,"name":"row-0","value":0}]}`), Status: []int{200}},
	},
}

// lead is the time between sending the call and SIGTERM: enough for a busy machine to begin the session and the call, and well within
// the call's 3 s.
const lead = 1500 * time.Millisecond

// checkShutdown sends the call to all servers, stops them while it runs, and looks at the answer and at the exit codes.
func checkShutdown(ctx context.Context, s *stand.Stand, targets []gate.Target, tools []contract.Tool, vectors []contract.Vector, opt gate.Options) (*gate.Report, error) {
	opt.Only = func(name string) bool { return name == shutdown.Name }

	codes := make([]int, len(targets))
	errs := make([]error, len(targets))
	var stops sync.WaitGroup
	for i, server := range s.Servers {
		stops.Go(func() {
			select {
			case <-time.After(lead):
			case <-ctx.Done():
			}
			codes[i], errs[i] = server.Stop(ctx)
		})
	}
	report, err := gate.Check(ctx, targets, tools, vectors, opt)
	stops.Wait()
	if err != nil {
		return nil, err
	}
	for i, target := range targets {
		var found []gate.Difference
		if errs[i] != nil {
			found = append(found, gate.Difference{Aspect: gate.AspectExit, Want: "an end after the answer", Got: errs[i].Error()})
		}
		if codes[i] != 0 {
			found = append(found, gate.Difference{Aspect: gate.AspectExit, Want: "exit code 0", Got: fmt.Sprintf("exit code %d", codes[i])})
		}
		if len(found) > 0 {
			report.Add(target, shutdown.Name, found...)
		}
	}
	return report, nil
}
