package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// healthPeriod is how often /healthz is asked while a service starts: often enough for its start to be timed.
	healthPeriod = 20 * time.Millisecond
	// healthTimeout is how long one answer may take.
	healthTimeout = 2 * time.Second
)

// errEnded is what is said of a service that does not run any more.
var errEnded = errors.New("it has ended")

// awaitHealthy returns when /healthz answers with 200, or the service has ended, or startTimeout is over.
func awaitHealthy(ctx context.Context, url string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("/healthz did not answer with 200 within %v", startTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: healthTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	for {
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close() // the status is all that matters
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return errEnded
		case <-tick.C:
		}
	}
}
