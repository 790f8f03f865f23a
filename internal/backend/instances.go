package backend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// instances are those of one backend that run, and those that are about to.
type instances struct {
	// ctx ends when the backend is closed.
	ctx   context.Context
	close context.CancelCauseFunc

	mu      sync.Mutex
	work    sync.WaitGroup
	running map[Instance]bool
}

func newInstances() *instances {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &instances{ctx: ctx, close: cancel, running: map[Instance]bool{}}
}

// begin announces a build or a start. The context that it returns ends with the backend too; done must be called in the end.
func (r *instances) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, nil, errClosed
	}
	r.work.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(r.ctx, func() { cancel(errClosed) })
	return ctx, func() {
		unlink()
		cancel(nil)
		r.work.Done()
	}, nil
}

func (r *instances) add(i Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[i] = true
}

func (r *instances) remove(i Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, i)
}

// stopAll gives up what has begun and stops what runs.
func (r *instances) stopAll() error {
	r.mu.Lock()
	r.close(errClosed)
	r.mu.Unlock()
	r.work.Wait()

	r.mu.Lock()
	running := slices.Collect(maps.Keys(r.running))
	r.mu.Unlock()
	errs := make([]error, len(running))
	var stops sync.WaitGroup
	for n, i := range running {
		stops.Go(func() { _, errs[n] = i.Stop(context.Background()) })
	}
	stops.Wait()
	return errors.Join(errs...)
}
