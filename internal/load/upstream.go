package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How the capacity of the upstream service is measured: as many clients as keep it busy, for as short a time as gives a steady
// figure. The result is compared with a limit (stats.MinUpstreamHeadroom), it is no figure of its own.
const (
	upstreamClients = 16
	upstreamWarmup  = 500 * time.Millisecond
	upstreamWindow  = 2 * time.Second
)

// UpstreamCapacity measures how many requests per second the upstream service, which stays on its own CPUs, answers while nothing
// else is loaded. The clients run in this process, on any CPU that is free: they cost more than the service itself, and
// what is asked is what the service can do, not what is left beside them.
func UpstreamCapacity(ctx context.Context, url string) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: upstreamClients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	get := func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/items/1", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("GET /items/1: %s", response.Status)
		}
		return errors.Join(err, response.Body.Close())
	}

	start := time.Now().Add(upstreamWarmup)
	end := start.Add(upstreamWindow)
	var answered atomic.Int64
	failures := make(chan error, upstreamClients)
	var clients sync.WaitGroup
	for range upstreamClients {
		clients.Go(func() {
			for now := time.Now(); now.Before(end); now = time.Now() {
				if err := get(); err != nil {
					failures <- err
					return
				}
				if done := time.Now(); now.After(start) && done.Before(end) {
					answered.Add(1)
				}
			}
		})
	}
	clients.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return 0, fmt.Errorf("measure what the upstream service can serve: %w", err)
	}
	return float64(answered.Load()) / upstreamWindow.Seconds(), nil
}
