// Command server is a service for the tests of the backends: it shows what it was given, and uses what it is told to.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var held [][]byte

func main() {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		burn(200 * time.Millisecond)
		time.Sleep(time.Hour)
	}
	switch os.Getenv("TEST_MODE") {
	case "crash":
		fmt.Fprintln(os.Stderr, "told to crash")
		os.Exit(3)
	case "never ready":
		fmt.Fprintln(os.Stderr, "told to wait")
		time.Sleep(time.Hour)
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	go func() {
		<-terminate
		if os.Getenv("TEST_MODE") == "ignore SIGTERM" {
			select {}
		}
		fmt.Println("ends on SIGTERM")
		code, _ := strconv.Atoi(os.Getenv("TEST_EXIT"))
		os.Exit(code)
	}()

	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(os.Environ()) })
	http.HandleFunc("/cpus", func(w http.ResponseWriter, _ *http.Request) {
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
				io.WriteString(w, strings.TrimSpace(list))
			}
		}
	})
	http.HandleFunc("/burn", func(http.ResponseWriter, *http.Request) { burn(300 * time.Millisecond) })
	http.HandleFunc("/hold", func(http.ResponseWriter, *http.Request) {
		held = append(held, make([]byte, 64<<20))
		for i := range held[0] {
			held[0][i] = 1
		}
	})
	http.HandleFunc("/fork", func(w http.ResponseWriter, _ *http.Request) {
		if err := exec.Command(os.Args[0], "child").Start(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	http.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Get(r.FormValue("url"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		io.Copy(w, resp.Body)
	})
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) {
		fmt.Println("told to exit")
		os.Exit(4)
	})
	fmt.Println("listens")
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), nil))
	os.Exit(1)
}

// burn uses one CPU until the process has used that much more of it.
func burn(cpu time.Duration) {
	used := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano())
	}
	for end := used() + cpu; used() < end; {
		for range 100_000 {
		}
	}
}
