package backend

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// helperVariable makes the test's program do something else; see TestMain.
const helperVariable = "PARITY_BACKEND_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "":
		os.Exit(m.Run())
	case "auto": // tells which backend it chooses
		b, err := New(context.Background(), KindAuto, Options{Root: root})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%s: %s\n", b.Name(), b.Notes()[0])
		if err := b.Close(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "harness": // starts a service and waits to be killed
		b, err := New(context.Background(), KindProcess, Options{Root: root, LogDir: os.Getenv("TEST_LOGS")})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s, _ := testService(&testing.T{}, os.Getenv("TEST_MARK"))
		if _, err := b.Start(context.Background(), s); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
}

func helper(t *testing.T, _ string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self)
}

func TestKilledHarnessLeavesNoServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child that its parent was killed")
	}
}

// cache gives the test a cache of builds of its own, but the compiler's usual one.
func cache(t *testing.T) string {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "mcp-parity", "build")
}

var _ = bufio.NewReader
var _ = time.Second
var _ subject.Need
