package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

// outcome judges all answers to a job.
func (j *judge) outcome(job job, o *outcome) {
	for client, trace := range o.traces {
		for i, rec := range trace {
			for _, d := range j.step(job.scripts[client][i].Expect, rec.request, rec.reply) {
				o.differences = append(o.differences, atStep(d, i, len(trace)))
			}
			if job.minimum > 0 && rec.reply.elapsed < job.minimum {
				o.differences = append(o.differences, atStep(Difference{
					Aspect: AspectTiming, Want: "an answer after at least " + job.minimum.String(), Got: milliseconds(rec.reply.elapsed),
				}, i, len(trace)))
			}
		}
	}
	if n := len(o.traces); n > 1 && job.minimum > 0 {
		if limit, took := time.Duration(n)*job.minimum, o.longest(); took >= limit {
			o.differences = append(o.differences, Difference{
				Aspect: AspectTiming, Want: fmt.Sprintf("%d answers at the same time, in less than %v", n, limit), Got: milliseconds(took),
			})
		}
	}
	o.differences = unique(o.differences)
}

// longest is the time from the common beginning until the last client had all its answers.
func (o *outcome) longest() time.Duration {
	var longest time.Duration
	for _, trace := range o.traces {
		var total time.Duration
		for _, rec := range trace {
			total += rec.reply.elapsed
		}
		longest = max(longest, total)
	}
	return longest
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + "ms"
}

// compareResults compares two answers in what an expectation may leave open. Where it allows more than one class, code or
// status, either is right; but results must be equal.
func compareResults(a, b record) findings {
	var f findings
	want, got := a.reply, b.reply
	if want.class != classResult || got.class != classResult {
		return nil
	}
	w, g := want.result(), got.result()
	if w == nil || g == nil {
		f.values(AspectResult, "", jsondiff.Compare(want.message["result"], got.message["result"]))
		return f
	}
	f.values(AspectStructured, "", jsondiff.Compare(member(w, "structuredContent"), member(g, "structuredContent")))
	f.content(w["content"], g["content"])
	f.values(AspectResult, "", jsondiff.Compare(rest(w), rest(g)))
	return f
}

// rest is a result without the parts that are compared on their own.
func rest(result map[string]any) any {
	result = maps.Clone(result)
	delete(result, "structuredContent")
	delete(result, "content")
	if result["isError"] == false {
		delete(result, "isError") // the same as absent
	}
	return normalise(result, "/result")
}

// content compares content blocks. Text that is JSON in both is compared as JSON: white space and escapes in it are free
// where no contract says otherwise.
func (f *findings) content(want, got any) {
	want, got = normalise(want, "/result/content"), normalise(got, "/result/content")
	f.values(AspectContent, "", jsondiff.Compare(parseTexts(want), parseTexts(got)))
}

// parseTexts replaces the text of each text block by the object or array that it holds, if it does.
func parseTexts(content any) any {
	blocks, ok := content.([]any)
	if !ok {
		return content
	}
	parsed := make([]any, len(blocks))
	for i, block := range blocks {
		parsed[i] = block
		b, ok := block.(map[string]any)
		if !ok || b["type"] != "text" {
			continue
		}
		text, _ := b["text"].(string)
		value, err := jsondiff.Parse([]byte(text))
		if err != nil {
			continue
		}
		switch value.(type) {
		case map[string]any, []any:
			b = maps.Clone(b)
			b["text"] = value
			parsed[i] = b
		}
	}
	return parsed
}

// compareReplies compares two answers in all that a client can tell apart.
func compareReplies(a, b record) findings {
	var f findings
	want, got := a.reply, b.reply
	if want.status != got.status {
		f.add(AspectStatus, "", strconv.Itoa(want.status), strconv.Itoa(got.status))
	}
	if want.class != got.class {
		f.add(AspectClass, "", want.describe(), got.describe())
		return f
	}
	f.envelopes(a, b)
	switch want.class {
	case classResult:
		return append(f, compareResults(a, b)...)
	case classToolError: // its texts are free
		f.values(AspectStructured, "", jsondiff.Compare(member(want.result(), "structuredContent"), member(got.result(), "structuredContent")))
	case classProtocolError:
		if want.code() != got.code() {
			f.add(AspectCode, "/error/code", want.code(), got.code())
		}
	case classHTTP:
		if want.mediaType() != got.mediaType() {
			f.add(AspectHeaders, "/Content-Type", orAbsent(want.mediaType()), orAbsent(got.mediaType()))
		}
		if want.status < 400 && string(want.body) != string(got.body) { // the text of an error is free
			w, g := jsondiff.Around(strconv.Quote(string(want.body)), strconv.Quote(string(got.body)))
			f.add(AspectBody, "", w, g)
		}
	}
	return f
}

// envelopes reports what is wrong around the second answer and not around the first.
func (f *findings) envelopes(a, b record) {
	if a.reply.message == nil {
		return
	}
	var want, got findings
	want.envelope(a.request, a.reply)
	got.envelope(b.request, b.reply)
	for _, d := range got {
		if !slices.ContainsFunc(want, func(w Difference) bool { return w.Aspect == d.Aspect && w.Pointer == d.Pointer }) {
			*f = append(*f, d)
		}
	}
}

// checkExpected makes sure that the expected answers can be read, so that a mistake in a vector is not blamed on a server.
func checkExpected(v contract.Vector) error {
	for _, step := range v.AllSteps() {
		if step.Expect == nil {
			return fmt.Errorf("vector %s: says nothing about the expected answer", v.Name)
		}
		for _, e := range append([]contract.Expect{*step.Expect}, step.Expect.AnyOf...) {
			for _, text := range []*string{e.Result, e.Reply, e.Contains} {
				if text == nil {
					continue
				}
				if _, err := jsondiff.Parse([]byte(*text)); err != nil {
					return fmt.Errorf("vector %s: the expected answer cannot be read: %w", v.Name, err)
				}
			}
		}
	}
	return nil
}
