package gate_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

// fault returns a fault or freedom by its name.
func fault(t *testing.T, name string) fauxserver.Fault {
	t.Helper()
	for _, list := range [][]fauxserver.Fault{fauxserver.Faults, fauxserver.Freedoms} {
		for _, f := range list {
			if f.Name == name {
				return f
			}
		}
	}
	t.Fatalf("there is no fault %s", name)
	return fauxserver.Fault{}
}

// named selects vectors by their names.
func named(names ...string) func(string) bool {
	return func(name string) bool {
		for _, n := range names {
			if n == name {
				return true
			}
		}
		return false
	}
}

func check(t *testing.T, targets []gate.Target, vectors []contract.Vector, opt gate.Options) *gate.Report {
	t.Helper()
	opt.Seed = seed
	report, err := gate.Check(t.Context(), targets, tools(t), vectors, opt)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func offByOne(t *testing.T) gate.Target {
	return target(t, "go/stateful", true, "", fault(t, "off-by-one"))
}

func TestTextNamesAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	report := check(t, []gate.Target{offByOne(t)}, vectors(t), gate.Options{
		Only:   named("db/rows-2"),
		Repeat: func(t gate.Target, vector string) string { return "parity check " + t.Name + " --vector " + vector },
	})
	want := `FAIL go/stateful  db/rows-2  2025-11-25
     structuredContent /rows/1/value: wanted 37, got 38   (contract)
     repeat: parity check go/stateful --vector db/rows-2
   vectors   passed   failed   known server
         1        0        1       0 go/stateful
`
	if got := text(t, report); !strings.HasPrefix(got, want) {
		t.Errorf("got:\n%s\nwanted it to begin with:\n%s", got, want)
	}
	if got := text(t, report); !strings.HasSuffix(got, "DIFFERENT: 0 passed, 1 failed, 0 known differences, 0 stale entries\n") {
		t.Errorf("the verdict is not at the end:\n%s", got)
	}
}

func TestJUnitHasEveryCase(t *testing.T) {
	t.Parallel()
	report := check(t, []gate.Target{offByOne(t), target(t, "java", false, "", fauxserver.Fault{})}, vectors(t), gate.Options{
		Only: named("db/rows-2", "db/rows-0", "protocol/ping"),
	})
	var out bytes.Buffer
	if err := report.WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != len(report.Results) || got.Failures == 0 || len(got.Suites) != 2 || got.Suites[0].Name != "go/stateful" {
		t.Fatalf("got %+v", got)
	}
	failed := map[string]string{}
	for _, c := range got.Suites[0].Cases {
		if c.Failure != nil {
			failed[c.Name] = c.Failure.Text
		}
	}
	if !strings.Contains(failed["db/rows-2 2025-11-25"], "/rows/1/value: wanted 37, got 38") {
		t.Errorf("got %+v", failed)
	}
}

func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	known := func(server, vector, pointer string) contract.KnownDifference {
		return contract.KnownDifference{Server: server, Vectors: []string{vector}, Pointer: pointer, Reason: "r", Link: "l"}
	}
	for _, c := range []struct {
		name  string
		known contract.KnownDifference
		ok    bool
		stale int
	}{
		{"matches", known("go/stateful", "db/rows-2", "/rows/1/value"), true, 0},
		{"matches any pointer", known("go/stateful", "db/rows-*", ""), true, 0},
		{"matches all variants", known("go", "db/rows-2", ""), true, 0},
		{"other pointer", known("go", "db/rows-2", "/rows/1/id"), false, 1},
		{"other server", known("java", "db/rows-2", ""), false, 0},
		{"other variant", known("go/fast", "db/rows-2", ""), false, 0},
		{"nothing differs there", known("go", "protocol/ping", ""), false, 1},
		{"vector was not sent", known("go", "db/rows-0", ""), false, 0},
		{"profile was not sent", contract.KnownDifference{Server: "go", Vectors: []string{"db/rows-2"}, Profiles: both[1:], Reason: "r", Link: "l"}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, []gate.Target{offByOne(t)}, vectors(t), gate.Options{
				Only:  named("db/rows-2", "protocol/ping"),
				Known: []contract.KnownDifference{c.known},
			})
			if report.OK() != c.ok || len(report.Stale()) != c.stale {
				t.Errorf("OK is %v, wanted %v; %d stale entries, wanted %d\n%s", report.OK(), c.ok, len(report.Stale()), c.stale, text(t, report))
			}
		})
	}
	t.Run("unknown vector", func(t *testing.T) {
		t.Parallel()
		_, err := gate.Check(t.Context(), []gate.Target{offByOne(t)}, tools(t), vectors(t), gate.Options{
			Known: []contract.KnownDifference{known("go", "db/no-such", "")},
		})
		if err == nil || !strings.Contains(err.Error(), "db/no-such") {
			t.Errorf("got error %v", err)
		}
	})
}

// An entry may be about vectors of both states of the upstream service, and one of them may be enough.
func TestMergeJoinsKnownDifferences(t *testing.T) {
	t.Parallel()
	opt := gate.Options{
		Only:  named("fetch/refused", "fetch/path-empty"),
		Known: []contract.KnownDifference{{Server: "faux", Vectors: []string{"fetch/refuse*", "fetch/[pr]*"}, Reason: "r", Link: "l"}},
	}
	targets := []gate.Target{target(t, "faux", false, "http://127.0.0.1:1", fault(t, "structured-error"))}
	report := gate.NewReport(targets, opt)
	report.Merge(check(t, targets, vectors(t), opt))
	opt.Upstream = "stopped"
	report.Merge(check(t, targets, vectors(t), opt))
	if got := report.Counts("faux"); !report.OK() || got != (gate.Counts{Vectors: 4, Known: 4}) {
		t.Errorf("got %+v\n%s", got, text(t, report))
	}
}

func TestAnEmptyReportIsNotGood(t *testing.T) {
	t.Parallel()
	report := check(t, []gate.Target{offByOne(t)}, vectors(t), gate.Options{Only: named("sessions/stateless-no-id")})
	if report.OK() || !strings.Contains(text(t, report), "NOTHING SENT") {
		t.Error(text(t, report))
	}
}
