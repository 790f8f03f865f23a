package histlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// SummaryFile is the name of the file with the totals. It is written last: when it is there, so are
// the histograms that it names.
const SummaryFile = "summary.json"

// Summary is the content of SummaryFile.
type Summary struct {
	Version int      `json:"version"` // of this format: 1
	Unit    string   `json:"unit"`    // of the histograms: "us"
	Series  []Totals `json:"series"`
}

// Prepare makes the directory and removes the summary of an earlier run from it, so that a run that
// dies leaves none.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- results are for others to read
		return err
	}
	if err := os.Remove(filepath.Join(dir, SummaryFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Write writes one log per series and the summary to a directory that exists.
func (r *Recorder) Write(dir string) error {
	summary := Summary{Version: 1, Unit: "us", Series: []Totals{}}
	taken := map[string]bool{}
	for _, s := range r.sorted() {
		totals := s.Totals()
		logs, err := s.encode(&totals)
		if err != nil {
			return fmt.Errorf("encode the histogram of %s %s: %w", totals.Method, totals.Tool, err)
		}
		stem := fileStem(totals.Key, taken)
		for _, log := range logs {
			*log.name = stem + log.suffix
			if err := writeFile(dir, *log.name, log.data); err != nil {
				return err
			}
		}
		summary.Series = append(summary.Series, totals)
	}
	data, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(dir, SummaryFile, append(data, '\n'))
}

// file is a log to be written, and where its name belongs in the totals.
type file struct {
	name   *string
	suffix string
	data   []byte
}

func (s *Series) encode(t *Totals) (files []file, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range []struct {
		hist   *hdrhistogram.Histogram
		what   string
		name   *string
		suffix string
	}{
		{s.hist, "Microseconds of successful calls", &t.Hlog, ".hlog"},
		{s.responses, "Microseconds of successful calls from their intended start", &t.ResponseHlog, ".response.hlog"},
	} {
		if h.hist == nil || h.hist.TotalCount() == 0 {
			continue
		}
		data, err := encode(h.hist, h.what, *t)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: h.name, suffix: h.suffix, data: data})
	}
	return files, nil
}

func encode(h *hdrhistogram.Histogram, what string, t Totals) ([]byte, error) {
	h.SetStartTimeMs(t.StartUnixMs)
	h.SetEndTimeMs(t.EndUnixMs)
	key, err := json.Marshal(t.Key)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&b)
	for _, write := range []func() error{
		w.OutputLogFormatVersion,
		func() error {
			return w.OutputComment("[" + what + ", Interval_Max in seconds: " + string(key) + "]")
		},
		func() error { return w.OutputStartTime(t.StartUnixMs) },
		w.OutputLegend,
		func() error { return w.OutputIntervalHistogram(h) },
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

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

// writeFile puts a file in place at once, so that no reader sees half of it.
func writeFile(dir, name string, data []byte) (err error) {
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}
