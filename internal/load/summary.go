package load

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
	summaryFile    = "summary.json"
	summaryVersion = 1
	// phaseMeasure is the tag with which the script marks the calls that were started in the window.
	phaseMeasure = "measure"
)

// summary is the content of summaryFile, as far as it is used here.
type summary struct {
	Version int      `json:"version"`
	Series  []series `json:"series"`
}

// series are the calls of one method, tool and phase.
type series struct {
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

func readSummary(folder string) (summary, error) {
	text, err := os.ReadFile(filepath.Join(folder, summaryFile))
	if err != nil {
		return summary{}, fmt.Errorf("read k6's summary: %w", err)
	}
	var s summary
	if err := json.Unmarshal(text, &s); err != nil {
		return summary{}, fmt.Errorf("read k6's summary: %w", err)
	}
	if s.Version != summaryVersion {
		return summary{}, fmt.Errorf("read k6's summary: it has version %d, wanted %d", s.Version, summaryVersion)
	}
	return s, nil
}

// record puts what the summary says of the workload into the launch. Errors count wherever they happened.
func (s summary) record(w experiment.Workload, l *result.Launch) {
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
		if one.Phase != phaseMeasure || one.Method != method || one.Tool != w.Tool {
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
