package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

func start(t testing.TB) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(upstream.Handler())
	t.Cleanup(server.Close)
	// Redirects are answers here.
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server
}

func TestAnswers(t *testing.T) {
	server := start(t)
	const missing = `{"error":"not found"}`
	tests := []struct {
		path, body string
		status     int
	}{
		// 17*1 + '1' = 66; 17*3 + 'a' + '_' + '-' = 288; 17*64 + 64*'z' = 8896
		{"/items/1", `{"id":"1","name":"item-1","tags":["alpha","beta","gamma"],"price":66}`, 200},
		{"/items/a_-", `{"id":"a_-","name":"item-a_-","tags":["alpha","beta","gamma"],"price":288}`, 200},
		{"/items/" + strings.Repeat("z", 64), fmt.Sprintf(`{"id":"%[1]s","name":"item-%[1]s","tags":["alpha","beta","gamma"],"price":896}`, strings.Repeat("z", 64)), 200},
		{"/items/", missing, 404},
		{"/items/%22", missing, 404},
		{"/items/1/2", missing, 404},
		{"/delay/0", `{"delay_ms":0}`, 200},
		{"/delay/1/a/b", `{"delay_ms":1}`, 200},
		{"/delay/60001/a", missing, 404},
		{"/delay/x", missing, 404},
		{"/status/200", `{"status":200}`, 200},
		{"/status/204", "", 204},
		{"/status/302", `{"status":302}`, 302},
		{"/status/304", "", 304},
		{"/status/404", `{"status":404}`, 404},
		{"/status/500", `{"status":500}`, 500},
		{"/status/599", `{"status":599}`, 599},
		{"/status/100", missing, 404},
		{"/status/600", missing, 404},
		{"/status/0200", missing, 404},
		{"/big/10", `{"pad":""}`, 200},
		{"/big/13", `{"pad":"aaa"}`, 200},
		{"/big/9", missing, 404},
		{"/big/67108865", missing, 404},
		{"/notjson", "this is not JSON", 200},
		{"/healthz", "ok", 200},
		{"/", missing, 404},
		{"/elsewhere", missing, 404},
	}
	for _, test := range tests {
		resp, err := server.Client().Get(server.URL + test.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != test.status || string(body) != test.body {
			t.Errorf("%s: %d %s (%v), want %d %s", test.path, resp.StatusCode, body, err, test.status, test.body)
		}
		if want := test.status/100 == 3; (resp.Header.Get("Location") == "/items/1") != want {
			t.Errorf("%s: Location %q", test.path, resp.Header.Get("Location"))
		}
		if isJSON := strings.HasPrefix(test.body, "{"); isJSON && (!json.Valid(body) || resp.Header.Get("Content-Type") != "application/json") {
			t.Errorf("%s: not JSON: %s", test.path, resp.Header.Get("Content-Type"))
		}
	}
}

func TestBigHasTheSizeAskedFor(t *testing.T) {
	server := start(t)
	for _, size := range []int{64<<10 + 9, 64<<10 + 10, 1<<20 + 1, upstream.MaxBig} {
		resp, err := server.Client().Get(fmt.Sprintf("%s/big/%d", server.URL, size))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || len(body) != size || !json.Valid(body) {
			t.Errorf("asked for %d bytes, got %d (%v), valid JSON: %v", size, len(body), err, json.Valid(body))
		}
	}
}

func TestDelayWaits(t *testing.T) {
	server := start(t)
	began := time.Now()
	resp, err := server.Client().Get(server.URL + "/delay/50/x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestDelayEndsWhenTheClientLeaves(t *testing.T) {
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upstream.Handler().ServeHTTP(w, r)
		close(left)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/delay/60000/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client().Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("still waiting")
	}
}

func TestCloseResetsTheConnection(t *testing.T) {
	server := start(t)
	_, err := server.Client().Get(server.URL + "/close")
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestOtherMethodsAreNotFound(t *testing.T) {
	server := start(t)
	resp, err := server.Client().Post(server.URL+"/items/1", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("got %d", resp.StatusCode)
	}
}

func BenchmarkItem(b *testing.B) {
	handler := upstream.Handler()
	req := httptest.NewRequest(http.MethodGet, "/items/1", nil)
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
}
