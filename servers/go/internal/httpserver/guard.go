package httpserver

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard refuses requests whose Host or Origin is foreign, which is how a web
// page would reach a server on the user's own machine (DNS rebinding).
func guard(listenHost string, next http.Handler) http.Handler {
	own := []string{"localhost", "127.0.0.1", "::1"}
	if ip := net.ParseIP(listenHost); ip == nil || !ip.IsUnspecified() {
		own = append(own, listenHost)
	}
	isOwn := func(name string) bool {
		for _, o := range own {
			if strings.EqualFold(name, o) {
				return true
			}
		}
		return false
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOwn(hostName(r.Host)) {
			http.Error(w, "Host must be localhost, 127.0.0.1, [::1] or the address that the server listens on", http.StatusForbidden)
			return
		}
		for _, origin := range r.Header["Origin"] {
			if u, err := url.Parse(origin); err != nil || !isOwn(u.Hostname()) {
				http.Error(w, "Origin must be absent, or name this server's own host", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostName is the name in a Host header, without port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1]
	}
	return host
}
