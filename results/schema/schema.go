// Package schema holds the JSON Schema of the files of a run.
package schema

import _ "embed" // for Run

// Run is the JSON Schema (2020-12) of run.json.
//
//go:embed run.schema.json
var Run []byte
