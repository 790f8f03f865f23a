// Command hlogmerge adds up the histograms of several k6 processes, and prints what they say together.
//
//	hlogmerge [-out directory] directory...
//
// Each directory is the K6_MCP_HISTOGRAMS of one process. With -out the merged histograms are written in
// the same format, to be merged again or read by any HdrHistogram tool.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
)

func main() {
	out := flag.String("out", "", "write the merged histograms to this `directory`")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: hlogmerge [-out directory] directory...\n\n"+
			"Merges the histograms that k6 processes have written to K6_MCP_HISTOGRAMS.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := merge(os.Stdout, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "hlogmerge:", err)
		os.Exit(2)
	}
}

func merge(w io.Writer, out string, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("name the directories to merge; -h says more")
	}
	rows, err := histlog.Merge(dirs, out)
	if err != nil {
		return err
	}
	return print(w, rows)
}

// print writes one line per series, and more where there are response times or lags. Times
// are in milliseconds.
func print(w io.Writer, rows []histlog.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tphase\tmethod\ttool\ttime\tcount\tfailed\ttool failed\twrong\tp50 ms\tp95 ms\tp99 ms\tp99.9 ms\tmax ms\t")
	for _, row := range rows {
		line := func(of string, ok int64, p histlog.Percentiles) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", row.Scenario, row.Phase, row.Method, row.Tool, of,
				ok, row.Failed, row.ToolFailed, row.Wrong, ms(p.P50), ms(p.P95), ms(p.P99), ms(p.P999), ms(p.Max))
		}
		line("call", row.OK, row.Duration)
		if row.Responses > 0 {
			line("response", row.Responses, row.Response)
		}
		if row.Lags > 0 {
			line("lag", row.Lags, row.Lag)
		}
	}
	return t.Flush()
}

func ms(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64) }
