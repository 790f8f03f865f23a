package report_test

import (
	"os"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/report"
)

func TestX(t *testing.T) {
	run, dir := measured(t)
	page, err := report.HTML(run, dir)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/i4report/page.html", page, 0o644)
	os.WriteFile("/tmp/i4report/page.txt", []byte(report.Text(run)), 0o644)
}
