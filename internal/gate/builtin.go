package gate

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mcp-parity/mcp-parity/contract"
)

// The gate's own checks are about many answers together, which a vector cannot say.
const (
	// RepeatList asks for the tools many times: the answer and the order must stay the same.
	RepeatList = "built-in/repeat-tools-list"
	// RepeatCall makes one call many times.
	RepeatCall = "built-in/repeat-call"
	// SameID has clients use the same request ids at the same moment with different arguments: each must get its own
	// answer. Its queries are nonces, so that an answer of an earlier run does not fit.
	SameID = "built-in/same-id"
	// GivenUp stands for the vectors that were not sent because the target had stopped answering.
	GivenUp = "built-in/given-up"
)

const (
	repetitions   = 50
	sameIDClients = 8
	sameIDCalls   = 5
)

var builtInNames = []string{RepeatList, RepeatCall, SameID}

// builtIn returns the gate's own checks for a target that serves the contract's tools.
func builtIn(target Target, opt Options) []job {
	list := step(contract.Step{RPC: &contract.RPC{Method: "tools/list"}}, contract.Expect{Tools: true})
	random := rand.New(rand.NewPCG(opt.Seed, 0))
	call := query(nonce(random), 0)
	scripts := make([][]contract.Step, sameIDClients)
	for i := range scripts {
		for range sameIDCalls {
			scripts[i] = append(scripts[i], query(nonce(random), 20))
		}
	}
	var jobs []job
	for _, profile := range target.Profiles {
		jobs = append(jobs,
			job{vector: RepeatList, profile: profile, scripts: [][]contract.Step{slices.Repeat([]contract.Step{list}, repetitions)}},
			job{vector: RepeatCall, profile: profile, scripts: [][]contract.Step{slices.Repeat([]contract.Step{call}, repetitions)}},
			job{vector: SameID, profile: profile, scripts: scripts},
		)
	}
	return jobs
}

func nonce(random *rand.Rand) string {
	text := make([]byte, 8)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	return hex.EncodeToString(text)
}

// query is a call whose answer repeats its argument, and that waits so that calls overlap.
func query(text string, delayMS int) contract.Step {
	arguments := fmt.Sprintf(`{"query":%q,"delay_ms":%d,"rows":1}`, text, delayMS)
	answer := fmt.Sprintf(`{"query":%q,"delay_ms":%d,"rows":[{"id":0,"name":"row-0","value":0}]}`, text, delayMS)
	return step(
		contract.Step{Call: &contract.Call{Tool: "simulate_db_query", Arguments: &arguments}},
		contract.Expect{Result: &answer},
	)
}

func step(s contract.Step, e contract.Expect) contract.Step {
	e.Status = []int{200}
	s.Expect = &e
	return s
}
