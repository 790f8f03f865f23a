package backend

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Free ports are taken from below the range from which Linux (32768 up) and macOS (49152 up) give ports to clients: between the moment
// that a port is found free and the moment that the service listens on it, no connection of the load or of anybody else can take it.
const lowPort, highPort = 20000, 32768

// ports hands out ports on 127.0.0.1, each at most once.
type ports struct {
	mu    sync.Mutex
	taken map[int]bool
}

// take returns the port asked for, after a look whether it is free, or any free one for 0.
func (p *ports) take(asked int) (int, error) {
	if asked != 0 {
		if err := listenable(asked); err != nil {
			return 0, fmt.Errorf("port %d is in use (%w); stop what listens there or choose other ports", asked, err)
		}
		return asked, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for range 200 {
		port := lowPort + rand.IntN(highPort-lowPort)
		if p.taken[port] {
			continue
		}
		if err = listenable(port); err == nil {
			if p.taken == nil {
				p.taken = map[int]bool{}
			}
			p.taken[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("found no free port from %d to %d: %w", lowPort, highPort-1, err)
}

func listenable(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
