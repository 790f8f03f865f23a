package histlog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// SummaryFile is the name of the file with the totals. It is written last: when it is there, so are
// the logs that it names.
const SummaryFile = "summary.json"

// Version of the format of a directory. Version 1 had one histogram in each log.
const Version = 2

// partSuffix marks a log that grows.
const partSuffix = ".part"

// Summary is the content of SummaryFile.
type Summary struct {
	Version    int      `json:"version"`
	Unit       string   `json:"unit"`        // of the histograms: "us"
	IntervalMs int64    `json:"interval_ms"` // of each histogram: 1000
	Series     []Totals `json:"series"`
}

const (
	unit       = "us"
	intervalMs = 1000
)

func newTotals(key Key) Totals {
	return Totals{Key: key, Errors: map[wire.Kind]int64{}}
}

func writeSummary(dir string, series []Totals) error {
	if series == nil {
		series = []Totals{}
	}
	data, err := json.MarshalIndent(Summary{Version: Version, Unit: unit, IntervalMs: intervalMs, Series: series}, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, SummaryFile+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return install(f, filepath.Join(dir, SummaryFile), err)
}

// install gives a file that has been written its name at once, so that no reader sees half of it. A
// failure to write it removes it instead.
func install(f *os.File, path string, err error) error {
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the failure above is the one to report
	}
	return err
}

// log is a log that grows under its name and partSuffix, by whole lines.
type log struct {
	file *os.File
	name string
}

// createLog begins a log; first is the second of its first interval.
func createLog(dir, name, meaning string, key Key, first int64) (*log, error) {
	f, err := os.Create(filepath.Join(dir, name+partSuffix)) // #nosec G304 -- in the directory of the histograms
	if err != nil {
		return nil, err
	}
	l := &log{file: f, name: name}
	about, err := json.Marshal(key)
	if err != nil {
		return l, err
	}
	var text strings.Builder
	w := hdrhistogram.NewHistogramLogWriter(&text)
	for _, write := range []func() error{
		w.OutputLogFormatVersion,
		func() error {
			return w.OutputComment("[" + meaning + ", Interval_Max in seconds: " + string(about) + "]")
		},
		func() error { return w.OutputStartTime(first * intervalMs) },
		w.OutputLegend,
	} {
		if err := write(); err != nil {
			return l, err
		}
	}
	_, err = f.WriteString(text.String())
	return l, err
}

// append writes the histogram of a second.
func (l *log) append(second int64, h *hdrhistogram.Histogram) error {
	h.SetStartTimeMs(second * intervalMs)
	h.SetEndTimeMs((second + 1) * intervalMs)
	return hdrhistogram.NewHistogramLogWriter(l.file).OutputIntervalHistogram(h)
}

// finish gives the log its name.
func (l *log) finish() (name string, err error) {
	return l.name, install(l.file, strings.TrimSuffix(l.file.Name(), partSuffix), nil)
}

// abandon leaves the log as it is.
func (l *log) abandon() error { return l.file.Close() }

// fileStem makes a name of a key that a file system and a person can read. Keys that differ only in
// what is replaced get a number.
func fileStem(k Key, taken map[string]bool) string {
	var parts []string
	for _, part := range []string{k.Scenario, k.Phase, k.Method, k.Tool} {
		if part != "" {
			parts = append(parts, strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
					return r
				}
				return '_'
			}, part))
		}
	}
	stem := strings.Join(parts, ".")
	const longest = 200 // file systems stop at 255 bytes
	stem = stem[:min(len(stem), longest)]
	name := stem
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s.%d", stem, i)
	}
	taken[name] = true
	return name
}
