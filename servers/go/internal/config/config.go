// Package config reads the server's settings from the environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Transport says how clients reach the server.
type Transport string

// The transports.
const (
	HTTP  Transport = "http"  // Streamable HTTP on /mcp
	SSE   Transport = "sse"   // HTTP+SSE of revision 2024-11-05 on /sse
	Stdio Transport = "stdio" // standard input and output
)

// Sessions says whether the server remembers its clients between requests.
type Sessions string

// The session modes.
const (
	Stateless Sessions = "stateless"
	Stateful  Sessions = "stateful"
)

// Config is what the environment decides.
type Config struct {
	Host        string // address to listen on
	Port        int    // port to listen on
	UpstreamURL string // base URL for fetch_external_data, without a final slash
	Sessions    Sessions
	Transport   Transport
	Workers     int // asked number of processes; this server is always one
	LogLevel    slog.Level
}

// Address is the host and port to listen on.
func (c Config) Address() string {
	return net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
}

// Load reads the variables through getenv; an empty variable counts as unset.
// The error names every wrong variable, its value and what is allowed.
func Load(getenv func(string) string) (Config, error) {
	var wrong []error
	read := func(name, fallback string, set func(value string) (allowed string, ok bool)) {
		value := getenv(name)
		if value == "" {
			value = fallback
		}
		if allowed, ok := set(value); !ok {
			wrong = append(wrong, fmt.Errorf("%s=%q: must be %s", name, value, allowed))
		}
	}

	var c Config
	read("HOST", "127.0.0.1", func(v string) (string, bool) {
		c.Host = strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
		return "an IP address or a host name", net.ParseIP(c.Host) != nil || hostName.MatchString(v)
	})
	read("PORT", "8081", func(v string) (string, bool) {
		var err error
		c.Port, err = strconv.Atoi(v)
		return "a port from 1 to 65535", err == nil && c.Port >= 1 && c.Port <= 65535
	})
	read("UPSTREAM_URL", "http://127.0.0.1:8090", func(v string) (string, bool) {
		c.UpstreamURL = v
		return "an http or https URL without query, fragment or final slash", isBaseURL(v)
	})
	read("MCP_SESSIONS", string(Stateless), func(v string) (string, bool) {
		c.Sessions = Sessions(v)
		return "stateless or stateful", c.Sessions == Stateless || c.Sessions == Stateful
	})
	read("MCP_TRANSPORT", string(HTTP), func(v string) (string, bool) {
		c.Transport = Transport(v)
		return "http, sse or stdio", c.Transport == HTTP || c.Transport == SSE || c.Transport == Stdio
	})
	read("WORKERS", "1", func(v string) (string, bool) {
		var err error
		c.Workers, err = strconv.Atoi(v)
		return "a positive integer", err == nil && c.Workers >= 1
	})
	read("LOG_LEVEL", "info", func(v string) (string, bool) {
		level, ok := levels[v]
		c.LogLevel = level
		return "debug, info, warn or error", ok
	})
	return c, errors.Join(wrong...)
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		!strings.HasSuffix(s, "/") && !strings.ContainsAny(s, "?#")
}
