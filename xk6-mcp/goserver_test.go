package mcp

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goServerBinary is the repository's server in Go, built once for all tests, and as its subject.yaml builds it.
var goServerBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "go-server")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/server")
	build.Dir = "../servers/go"
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	return path, build.Run()
})

// goServer starts the server in Go with variables of the contract, and returns its URL without a path. At the end of
// the test the server must end as the contract says.
func goServer(t *testing.T, env ...string) string {
	t.Helper()
	path, err := goServerBinary()
	require.NoError(t, err)
	for range 3 { // another process may be faster to take a free port
		port := freePort(t)
		output := &bytes.Buffer{}
		server := exec.Command(path)
		server.Env = append(append(os.Environ(), "PORT="+port), env...)
		server.Stdout, server.Stderr = output, output
		require.NoError(t, server.Start())
		ended := make(chan error, 1)
		go func() { ended <- server.Wait() }()
		if !healthy(path, server.Env, ended) {
			_ = server.Process.Kill() // it may have ended
			<-ended
			t.Log("the server in Go did not start:", output)
			continue
		}
		t.Cleanup(func() {
			assert.NoError(t, server.Process.Signal(syscall.SIGTERM))
			select {
			case err := <-ended:
				assert.NoError(t, err, output)
			case <-time.After(15 * time.Second):
				assert.NoError(t, server.Process.Kill())
				assert.Fail(t, "the server in Go goes on 15 s after SIGTERM")
			}
		})
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	require.Fail(t, "the server in Go does not start")
	return ""
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, l.Close()) }()
	addr, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return strconv.Itoa(addr.Port)
}

// healthy waits until the server answers its own health check; false: it has ended, or takes too long.
func healthy(path string, env []string, ended chan error) bool {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		select {
		case err := <-ended:
			ended <- err
			return false
		case <-time.After(20 * time.Millisecond):
		}
		check := exec.Command(path, "healthcheck")
		check.Env = env
		if check.Run() == nil {
			return true
		}
	}
	return false
}

// proxy hands requests on to a server as they are, the Host header included.
func proxy(t *testing.T, target string) http.Handler {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host },
	}
}
