package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// freeAddress may be taken by somebody else before it is used, which would fail the test, not pass it.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestServeFinishesWhatIsInFlight(t *testing.T) {
	address := freeAddress(t)
	if err := healthcheck(t.Context(), address); err == nil {
		t.Error("a healthcheck of nothing passes")
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, address) }()
	for healthcheck(t.Context(), address) != nil {
		select {
		case err := <-served:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}

	answered := make(chan string, 1)
	began := make(chan struct{})
	go func() {
		close(began)
		resp, err := http.Get("http://" + address + "/delay/500/x")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answered <- string(body)
	}()
	<-began
	time.Sleep(200 * time.Millisecond) // the request is being waited for by now
	stop()
	if got := <-answered; got != `{"delay_ms":500}` {
		t.Errorf("the request in flight was answered with %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeTellsThatTheAddressIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := serve(t.Context(), l.Addr().String()); err == nil {
		t.Error("no error")
	}
}
