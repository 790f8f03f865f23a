package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRuntimeVersion(t *testing.T) {
	for _, test := range []struct{ metrics, want string }{
		{"# TYPE go_info gauge\ngo_info{version=\"go1.26.8\"} 1\n", "1.26.8"},
		{"nodejs_version_info{version=\"v24.22.0\",major=\"24\",minor=\"22\",patch=\"0\"} 1\n", "24.22.0"},
		{"python_info{implementation=\"CPython\",major=\"3\",minor=\"13\",patchlevel=\"5\",version=\"3.13.5\"} 1.0\n", "3.13.5"},
		{"jvm_info{runtime=\"OpenJDK Runtime Environment\",vendor=\"Debian\",version=\"25.0.1+8\"} 1\n", "25.0.1+8"},
		{"up 1\n", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.metrics) }))
		got := runtimeVersion(t.Context(), server.URL)
		server.Close()
		if got != test.want {
			t.Errorf("%q: got %q, wanted %q", test.metrics, got, test.want)
		}
	}
}
