// Package upstream is the deterministic HTTP service that the tool fetch_external_data calls. Each answer is a pure function of the
// path, so that every server must return the same and nothing needs to be stored.
package upstream

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxDelay is the longest wait that /delay grants.
	MaxDelay = 60_000 // ms

	// MinBig and MaxBig bound the size of a body of /big: that of {"pad":""}, and 64 MiB.
	MinBig = len(bigHead + bigTail) // bytes
	MaxBig = 64 << 20               // bytes
)

const (
	bigHead = `{"pad":"`
	bigTail = `"}`
)

// Handler serves
//
//	/items/<id>              {"id":"<id>","name":"item-<id>","tags":["alpha","beta","gamma"],"price":<see Price>}
//	/delay/<ms>/<anything>   {"delay_ms":<ms>} after that many milliseconds, at most [MaxDelay]; <anything> may be absent
//	/status/<code>           {"status":<code>} with that status, 200 to 599; 204 and 304 without a body, 3xx with Location: /items/1
//	/big/<bytes>             {"pad":"aaa..."} of exactly that size, [MinBig] to [MaxBig]
//	/notjson                 text that is not JSON
//	/close                   no answer: the connection is reset
//	/healthz                 200
//
// to GET and HEAD, and 404 with {"error":"not found"} to anything else, values out of range included. An id has the characters of one
// segment of the tool's endpoint: letters, digits, underscores and dashes.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", item)
	mux.HandleFunc("GET /delay/{ms}", delay)
	mux.HandleFunc("GET /delay/{ms}/{anything...}", delay)
	mux.HandleFunc("GET /status/{code}", status)
	mux.HandleFunc("GET /big/{bytes}", big)
	mux.HandleFunc("GET /notjson", func(w http.ResponseWriter, _ *http.Request) { text(w, "this is not JSON") })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, "ok") })
	mux.HandleFunc("GET /close", reset)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return mux
}

// Price is (17 * length + sum of bytes) mod 1000 of an item's id.
func Price(id string) int {
	sum := 17 * len(id)
	for i := range len(id) {
		sum += int(id[i])
	}
	return sum % 1000
}

func item(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !isSegment(id) {
		notFound(w)
		return
	}
	// An id needs no escapes, so the answer is put together without an encoder: this is the path that is loaded.
	b := make([]byte, 0, 2*len(id)+80)
	b = append(b, `{"id":"`...)
	b = append(b, id...)
	b = append(b, `","name":"item-`...)
	b = append(b, id...)
	b = append(b, `","tags":["alpha","beta","gamma"],"price":`...)
	b = strconv.AppendInt(b, int64(Price(id)), 10)
	b = append(b, '}')
	answer(w, http.StatusOK, b)
}

func isSegment(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func delay(w http.ResponseWriter, r *http.Request) {
	ms, ok := number(r.PathValue("ms"), 0, MaxDelay)
	if !ok {
		notFound(w)
		return
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		answer(w, http.StatusOK, fmt.Appendf(nil, `{"delay_ms":%d}`, ms))
	case <-r.Context().Done(): // the client has left
	}
}

func status(w http.ResponseWriter, r *http.Request) {
	code, ok := number(r.PathValue("code"), 200, 599)
	if !ok {
		notFound(w)
		return
	}
	if code/100 == 3 {
		w.Header().Set("Location", "/items/1")
	}
	if code == http.StatusNoContent || code == http.StatusNotModified {
		w.WriteHeader(code)
		return
	}
	answer(w, code, fmt.Appendf(nil, `{"status":%d}`, code))
}

func big(w http.ResponseWriter, r *http.Request) {
	size, ok := number(r.PathValue("bytes"), MinBig, MaxBig)
	if !ok {
		notFound(w)
		return
	}
	header(w, "application/json", size)
	if _, err := w.Write([]byte(bigHead)); err != nil {
		return
	}
	for left := size - MinBig; left > 0; {
		n, err := w.Write(padding[:min(left, len(padding))])
		if err != nil {
			return // the client has seen enough
		}
		left -= n
	}
	_, _ = w.Write([]byte(bigTail)) // on failure nobody is left to be told
}

var padding = []byte(strings.Repeat("a", 64<<10))

func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server closes the connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection is closed either way
	}
	_ = conn.Close()
}

// number reads a decimal without sign or leading zeros.
func number(s string, low, high int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s && n >= low && n <= high
}

func notFound(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, []byte(`{"error":"not found"}`))
}

func text(w http.ResponseWriter, body string) {
	header(w, "text/plain; charset=utf-8", len(body))
	_, _ = w.Write([]byte(body)) // on failure nobody is left to be told
}

func answer(w http.ResponseWriter, code int, body []byte) {
	header(w, "application/json", len(body))
	w.WriteHeader(code)
	_, _ = w.Write(body) // on failure nobody is left to be told
}

func header(w http.ResponseWriter, contentType string, length int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(length))
}
