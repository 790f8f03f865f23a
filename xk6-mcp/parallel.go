package mcp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/grafana/sobek"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// item is one request of parallel() or batch().
type item struct {
	request
	scene  scene
	params params
}

// items reads the operations of parallel(), or of batch(), which has one scene and one set of params for all
// of them.
func (s *session) items(what string, input sobek.Value, batch *item) []item {
	rt := s.client.mi.vu.Runtime()
	list, ok := input.(*sobek.Object)
	if !ok || list.ClassName() != "Array" {
		s.client.throw(what, fmt.Errorf("ops: want an array, got %s", input))
	}
	var items []item
	rt.ForOf(list, func(v sobek.Value) bool {
		items = append(items, s.item(fmt.Sprintf("%s: ops[%d]", what, len(items)), v, batch))
		return true
	})
	if len(items) == 0 {
		s.client.throw(what, errors.New("ops: want at least one operation"))
	}
	return items
}

func (s *session) item(what string, input sobek.Value, batch *item) item {
	c := s.client
	rt := c.mi.vu.Runtime()
	given := map[string]sobek.Value{}
	err := eachKey(rt, input, "key", func(key string, v sobek.Value) error {
		switch key {
		case "tool", "resource", "prompt", "method", "args", "body", "params":
			given[key] = v
			return nil
		}
		return errUnknown
	})
	if err != nil {
		c.throw(what, err)
	}
	arg := func(name string) sobek.Value {
		if v, ok := given[name]; ok {
			return v
		}
		return sobek.Undefined()
	}
	var i item
	var takes []string // what belongs to this kind of operation
	switch {
	case given["tool"] != nil:
		takes = []string{"tool", "args", "params"}
		i.request = s.toolRequest(what, arg("tool"), arg("args"))
	case given["prompt"] != nil:
		takes = []string{"prompt", "args", "params"}
		i.request = s.promptRequest(what, arg("prompt"), arg("args"))
	case given["resource"] != nil:
		takes = []string{"resource", "params"}
		i.request = s.resourceRequest(what, "resources/read", arg("resource"))
	case given["method"] != nil:
		takes = []string{"method", "body", "params"}
		i.request = s.methodRequest(what, arg("method"), arg("body"))
	default:
		c.throw(what, errors.New(`want an object with "tool", "resource", "prompt" or "method"`))
	}
	for name := range given {
		if !slices.Contains(takes, name) {
			c.throw(what, fmt.Errorf("%q does not go with %q", name, takes[0]))
		}
	}
	if batch != nil {
		if given["params"] != nil {
			c.throw(what, errors.New(`"params" go with the batch, which is one request to the server`))
		}
		i.scene, i.params = batch.scene, batch.params
		batch.scene = batch.scene.rest()
		return i
	}
	i.scene, i.params = s.begin(what, arg("params"), takesCall)
	return i
}

// parallel sends several requests at once.
func (s *session) parallel(call sobek.FunctionCall, _ *taskQueue) operation {
	const what = "parallel(ops, {concurrency})"
	concurrency := -1 // no limit
	err := eachKey(s.client.mi.vu.Runtime(), call.Argument(1), "param", func(key string, v sobek.Value) (err error) {
		if key != "concurrency" {
			return errUnknown
		}
		concurrency, err = parseWhole(v, "requests")
		return err
	})
	if err != nil {
		s.client.throw(what, err)
	}
	items := s.items(what, call.Argument(0), nil)
	answers := make([]answer, len(items))
	return operation{
		work: func() {
			var group errgroup.Group
			group.SetLimit(concurrency)
			for i, item := range items {
				group.Go(func() error {
					reply := item.send(item.scene.ctx, item.params.wire)
					answers[i] = s.settle(item.scene, item.params, item.request, []*wire.Reply{reply})
					return nil
				})
			}
			_ = group.Wait() // the goroutines return no error
		},
		finish: func() (sobek.Value, error) { return s.replies(items, answers) },
	}
}

// replies is an array of them, in the order of the requests.
func (s *session) replies(items []item, answers []answer) (sobek.Value, error) {
	var values []any
	for i, a := range answers {
		v, err := s.reply(items[i].params, a)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return s.client.mi.vu.Runtime().NewArray(values...), nil
}

// batch sends several requests as one JSON-RPC array.
func (s *session) batch(call sobek.FunctionCall, _ *taskQueue) operation {
	const what = "batch(ops, params)"
	var batch item
	batch.scene, batch.params = s.begin(what, call.Argument(1), takesCall)
	ctx, opts := batch.scene.ctx, batch.params.wire
	items := s.items(what, call.Argument(0), &batch)
	requests := make([]wire.Request, len(items))
	for i, item := range items {
		requests[i] = wire.Request{Method: item.about.method, Params: item.body()}
	}
	answers := make([]answer, len(items))
	var failure error
	return operation{
		work: func() {
			var replies []*wire.Reply
			if replies, failure = s.wire.Batch(ctx, requests, opts); failure != nil {
				return
			}
			for i, reply := range replies {
				answers[i] = s.settle(items[i].scene, items[i].params, items[i].request, []*wire.Reply{reply})
			}
		},
		finish: func() (sobek.Value, error) {
			if failure != nil {
				return nil, fmt.Errorf("%s: %w", what, failure)
			}
			return s.replies(items, answers)
		},
	}
}
