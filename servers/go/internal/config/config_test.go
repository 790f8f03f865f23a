package config

import (
	"log/slog"
	"strings"
	"testing"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestDefaults(t *testing.T) {
	got, err := Load(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Host:        "127.0.0.1",
		Port:        8081,
		UpstreamURL: "http://127.0.0.1:8090",
		Sessions:    Stateless,
		Transport:   HTTP,
		Workers:     1,
		LogLevel:    slog.LevelInfo,
	}
	if got != want {
		t.Errorf("got %+v, wanted %+v", got, want)
	}
}

func TestSet(t *testing.T) {
	got, err := Load(env(map[string]string{
		"HOST": "[::1]", "PORT": "9000", "UPSTREAM_URL": "https://up.example/base", "MCP_SESSIONS": "stateful",
		"MCP_TRANSPORT": "stdio", "WORKERS": "4", "LOG_LEVEL": "error",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{"::1", 9000, "https://up.example/base", Stateful, Stdio, 4, slog.LevelError}
	if got != want {
		t.Errorf("got %+v, wanted %+v", got, want)
	}
	if got.Address() != "[::1]:9000" {
		t.Errorf("address %s", got.Address())
	}
}

func TestWrong(t *testing.T) {
	wrong := map[string][]string{
		"HOST":          {"a b", "http://localhost", "-x"},
		"PORT":          {"0", "65536", "-1", "http", "8081 "},
		"UPSTREAM_URL":  {"127.0.0.1:8090", "ftp://x", "http://", "http://x/", "http://x?q", "http://x#f"},
		"MCP_SESSIONS":  {"yes", "Stateful"},
		"MCP_TRANSPORT": {"ws"},
		"WORKERS":       {"0", "1.5", "auto"},
		"LOG_LEVEL":     {"INFO", "trace"},
	}
	all := map[string]string{}
	for name, values := range wrong {
		for _, value := range values {
			all[name] = value
			_, err := Load(env(map[string]string{name: value}))
			if err == nil || !strings.Contains(err.Error(), name+`="`+value+`": must be `) {
				t.Errorf("%s=%q: got the error %v", name, value, err)
			}
		}
	}
	_, err := Load(env(all))
	for name := range wrong {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("several are wrong, but %s is not named: %v", name, err)
		}
	}
}
