package mcp

import (
	"sync"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"
)

// operation is something that a script asks for, after its arguments have been read. work may run on any
// goroutine and touches no JavaScript value; finish runs on the JavaScript thread after it. An error is
// thrown, or rejects the promise.
type operation struct {
	work   func()
	finish func() (sobek.Value, error)
}

// prepare reads the arguments of an operation. tasks is nil when the script waits, so that nothing can run
// on the JavaScript thread before the end.
type prepare func(call sobek.FunctionCall, tasks *taskQueue) operation

// wait is the form of an operation that returns its outcome.
func (mi *moduleInstance) wait(prepare prepare) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		o := prepare(call, nil)
		o.work()
		v, err := o.finish()
		if err != nil {
			throwWire(mi.vu.Runtime(), err)
		}
		return v
	}
}

// promise is the form of an operation that returns a promise.
func (mi *moduleInstance) promise(prepare prepare) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		rt := mi.vu.Runtime()
		tasks := newTaskQueue(mi.vu)
		prepared := false
		defer func() {
			if !prepared { // it has thrown, and the event loop must not wait for ever
				tasks.close()
			}
		}()
		o := prepare(call, tasks)
		prepared = true
		promise, resolve, reject := rt.NewPromise()
		go func() {
			o.work()
			tasks.add(func() error {
				v, err := o.finish()
				if err != nil {
					return reject(errorValue(rt, err))
				}
				return resolve(v)
			})
			tasks.close()
		}()
		return rt.ToValue(promise)
	}
}

// taskQueue runs functions that other goroutines add on the JavaScript thread, in order. k6's event loop, and
// with it the iteration, goes on until the queue is closed.
type taskQueue struct {
	register func() func(func() error)

	mu     sync.Mutex
	tasks  []func() error
	wake   func(func() error) // what the event loop waits for; nil while drain is on its way
	closed bool
}

// newTaskQueue must be called on the JavaScript thread.
func newTaskQueue(vu modules.VU) *taskQueue {
	return &taskQueue{register: vu.RegisterCallback, wake: vu.RegisterCallback()}
}

// add does nothing once the queue is closed.
func (q *taskQueue) add(task func() error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.tasks = append(q.tasks, task)
		q.kick()
	}
}

// close lets the event loop go when what has been added is done.
func (q *taskQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.kick()
	}
}

func (q *taskQueue) kick() {
	if wake := q.wake; wake != nil {
		q.wake = nil
		wake(q.drain)
	}
}

func (q *taskQueue) drain() error {
	q.mu.Lock()
	tasks := q.tasks
	q.tasks = nil
	if !q.closed {
		q.wake = q.register()
	}
	q.mu.Unlock()
	for _, task := range tasks {
		if err := task(); err != nil {
			return err
		}
	}
	return nil
}

func (q *taskQueue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
