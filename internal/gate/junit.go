package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML: a test suite for each target, a test case for each vector and wire revision,
// with all differences in its failure; known ones are in its output.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Time: seconds(r.Duration)}
	for _, target := range r.Targets {
		suite := junitSuite{Name: target, Properties: []junitProperty{{"seed", strconv.FormatUint(r.Seed, 10)}}}
		var spent time.Duration
		for _, result := range r.Results {
			if result.Target == target {
				spent += result.Duration
				suite.add(junitResult(result))
			}
		}
		suite.Time = seconds(spent)
		all.add(suite)
	}
	if stale := r.Stale(); len(stale) > 0 {
		suite := junitSuite{Name: "known differences", Time: seconds(0)}
		for _, s := range stale {
			suite.add(junitCase{Class: s.Entry.Server, Name: s.Vectors, Time: seconds(0), Failure: &junitFailure{Message: s.String()}})
		}
		all.add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitResult(result Result) junitCase {
	c := junitCase{Class: result.Target, Name: strings.TrimSpace(result.Vector + " " + result.Profile), Time: seconds(result.Duration)}
	var failures, known []string
	for _, d := range result.Differences {
		if d.Known == nil {
			failures = append(failures, d.String())
		} else {
			known = append(known, fmt.Sprintf("known: %s: %s %s", d, d.Known.Reason, d.Known.Link))
		}
	}
	c.Out = strings.Join(known, "\n")
	if len(failures) > 0 {
		c.Failure = &junitFailure{Message: failures[0]}
		if repeat := result.Differences[0].Repeat; repeat != "" {
			failures = append(failures, "repeat: "+repeat)
		}
		c.Failure.Text = strings.Join(failures, "\n")
	}
	return c
}

func (s *junitSuites) add(suite junitSuite) {
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Suites = append(s.Suites, suite)
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
