package stats

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// What k6/x/mcp writes beside its histograms.
const (
	SummaryFile    = "summary.json"
	SummaryVersion = 1
	// PhaseMeasure is the tag with which the script marks the calls that were started in the window.
	PhaseMeasure = "measure"
)

// Summary is the content of SummaryFile, as far as it is used here.
type Summary struct {
	Version int      `json:"version"`
	Series  []Series `json:"series"`
}

// Series are the calls of one method, tool and phase.
type Series struct {
	Method     string `json:"method"`
	Tool       string `json:"tool"`
	Phase      string `json:"phase"`
	OK         int64  `json:"ok"`
	Failed     int64  `json:"failed"`
	ToolFailed int64  `json:"tool_failed"`
	// Interrupted calls were cut off by the end of k6. The script lets every call end, so there is none in a good launch.
	Interrupted int64  `json:"interrupted"`
	Wrong       int64  `json:"wrong"`
	FirstError  string `json:"first_error"`
	FirstWrong  string `json:"first_wrong"`
	StartUnixMS int64  `json:"start_unix_ms"`
	EndUnixMS   int64  `json:"end_unix_ms"`
	Histogram   string `json:"hlog"`
}

// ReadSummary reads the summary in a launch's folder.
func ReadSummary(folder string) (Summary, error) {
	text, err := os.ReadFile(filepath.Join(folder, SummaryFile))
	if err != nil {
		return Summary{}, fmt.Errorf("read k6's summary: %w", err)
	}
	var s Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return Summary{}, fmt.Errorf("read k6's summary: %w", err)
	}
	if s.Version != SummaryVersion {
		return Summary{}, fmt.Errorf("read k6's summary: it has version %d, wanted %d", s.Version, SummaryVersion)
	}
	return s, nil
}

// Record puts what the summary says of the workload into the launch. Errors count wherever they happened.
func (s Summary) Record(w experiment.Workload, l *result.Launch) {
	method := "tools/call"
	if w.Method != "" {
		method = w.Method
	}
	for _, one := range s.Series {
		l.Counts.Failed += one.Failed + one.Interrupted
		l.Counts.ToolFailed += one.ToolFailed
		l.Counts.Wrong += one.Wrong
		for _, text := range []string{one.FirstError, one.FirstWrong} {
			if l.FirstError == "" {
				l.FirstError = text
			}
		}
		if one.Phase != PhaseMeasure || one.Method != method || one.Tool != w.Tool {
			continue
		}
		l.Counts.OK = one.OK
		if one.StartUnixMS < one.EndUnixMS {
			l.Window = &result.Window{Start: time.UnixMilli(one.StartUnixMS).UTC(), End: time.UnixMilli(one.EndUnixMS).UTC()}
		}
		if one.Histogram != "" {
			l.Histogram = l.Folder + "/" + one.Histogram
		}
	}
}
