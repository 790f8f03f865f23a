// Package experiment reads what is measured from experiments/*.yaml and plans the launches. An experiment is data: it
// names subjects, workloads and load shapes, and knows nothing of how they are run.
package experiment

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// Experiment is what one file of experiments/ asks for, with all defaults filled in: see Parse. experiments/schema/experiment.schema.json
// describes the file.
type Experiment struct {
	// Name is the file's name without extension.
	Name string `json:"name"`
	// Title says in a few words what is compared.
	Title string `json:"title"`
	// Published is the name of a table in results/published/ with which the figures are compared; empty if there is none.
	Published string `json:"published,omitempty"`
	// Scale is the factor by which durations were shortened; 1 when they are those of the file.
	Scale float64 `json:"scale"`
	// Subjects are the servers of all workloads, or variants of them: "go", "go/stateful". Tables keep this order.
	Subjects  []string   `json:"subjects"`
	Workloads []Workload `json:"workloads"`
	// Warmups are the least warm-ups of the subjects that have one of their own, by ID: those of their subject.yaml.
	Warmups map[string]yamlfile.Duration `json:"warmups,omitempty"`
}

// Workload is what every user does, over and over, and which subjects are compared by it.
type Workload struct {
	Name string `json:"name"`
	// Subjects are some of the experiment's, in its order.
	Subjects []string `json:"subjects"`
	// Reference is the subject to which the others are related.
	Reference string `json:"reference"`
	// Launches is how often each subject is started afresh.
	Launches int  `json:"launches"`
	Load     Load `json:"load"`
	// Revision is the revision of the protocol that the load generator offers.
	Revision string `json:"revision"`
	// Sessions is SessionsPerUser or SessionsPerCall.
	Sessions string `json:"sessions"`
	// Calls are made in this order in each iteration. Without any, an iteration is a session that is opened and closed.
	Calls []Call `json:"calls"`
}

// How sessions are used. With SessionsPerCall every call has a session of its own: initialize, notifications/initialized, the call,
// and DELETE where the server has given the session an ID.
const (
	SessionsPerUser = "per_user"
	SessionsPerCall = "per_call"
)

// Call is one request. One of Tool and Method is set.
type Call struct {
	// Tool is called through tools/call with Arguments.
	Tool      string         `yaml:"tool" json:"tool,omitempty"`
	Arguments map[string]any `yaml:"arguments" json:"arguments,omitempty"`
	// Method is MethodListTools.
	Method string `yaml:"method" json:"method,omitempty"`
}

// MethodListTools is the only method other than tools/call that can be a call of a workload.
const MethodListTools = "tools/list"

// Shapes of load.
const (
	// ShapeClosed: each user begins the next iteration as soon as the last one has ended, or Load.Sleep later.
	ShapeClosed = "closed"
	// ShapeOpen: iterations begin at Load.Rate, whether or not earlier ones have ended.
	ShapeOpen = "open"
	// ShapeSearch: the highest rate of ShapeOpen that meets Load.Objective is looked for, and then confirmed.
	ShapeSearch = "search"
)

// Load is how iterations arrive.
type Load struct {
	// Shape is ShapeClosed, ShapeOpen or ShapeSearch.
	Shape string `json:"shape"`
	// Users is the number of virtual users. Of the shapes other than closed it bounds how many iterations can be under way.
	Users int `json:"users"`
	// Ramp is the part of Warmup in which users start, one after the other; closed only.
	Ramp yamlfile.Duration `json:"ramp,omitempty"`
	// Sleep is the pause of a user after each iteration; closed only.
	Sleep yamlfile.Duration `json:"sleep,omitempty"`
	// Rate is the number of iterations in a second; open only.
	Rate int `json:"rate,omitempty"`
	// Objective is what a rate must meet; search only.
	Objective *Objective `json:"objective,omitempty"`
	// Warmup is the least time before the window: a longer one is detected.
	Warmup yamlfile.Duration `json:"warmup"`
	// WarmupLimit is for how long a server that is still changing is given time: the load goes on until it was steady for Duration, or until
	// the limit and Duration are over. 0 is no longer than Warmup. Not for an open load.
	WarmupLimit yamlfile.Duration `json:"warmup_limit,omitempty"`
	// Duration is the length of the window, less what a longer warm-up takes of it.
	Duration yamlfile.Duration `json:"duration"`
}

// Objective is met when that percentile of latency, from the intended start of an iteration, is at most Latency, and nothing failed or
// was dropped.
type Objective struct {
	Percentile float64           `yaml:"percentile" json:"percentile"`
	Latency    yamlfile.Duration `yaml:"latency" json:"latency"`
	// Step is how long each rate is tried.
	Step yamlfile.Duration `yaml:"step" json:"step"`
}

// WarmFor is how long a server must have been steady before a search tries the first rate: twice as long as each. A JVM that becomes 4 % faster
// with each second looks steady in less, and is then tried again and again at rates that it has just learnt to meet.
func (l Load) WarmFor() yamlfile.Duration { return 2 * l.Objective.Step }

// MayEndEarly reports whether the load is ended as soon as the server was steady for long enough.
func (l Load) MayEndEarly() bool { return l.WarmupLimit > l.Warmup }

// Script returns the path of the k6 script for a shape, below the project's root. A search is a series of open loads.
func Script(root, shape string) string {
	if shape == ShapeSearch {
		shape = ShapeOpen
	}
	return filepath.Join(root, "experiments", "scripts", shape+".js")
}

// Workload returns the workload of that name, which must be one of the experiment's.
func (e Experiment) Workload(name string) Workload {
	return e.Workloads[slices.IndexFunc(e.Workloads, func(w Workload) bool { return w.Name == name })]
}

// WorkloadOf returns the workload of that name as the subject gets it: with the subject's own warm-up where that is longer.
func (e Experiment) WorkloadOf(subject, name string) Workload {
	w := e.Workload(name)
	w.Load.Warmup = max(w.Load.Warmup, e.Warmups[subject])
	return w
}

// CallsTool reports whether an iteration calls the tool.
func (w Workload) CallsTool(tool string) bool {
	return slices.ContainsFunc(w.Calls, func(c Call) bool { return c.Tool == tool })
}

// ArgumentsJSON returns the arguments as JSON text: {} when there are none.
func (c Call) ArgumentsJSON() (json.RawMessage, error) {
	if c.Arguments == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := json.Marshal(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", c.Tool, err)
	}
	return text, nil
}
