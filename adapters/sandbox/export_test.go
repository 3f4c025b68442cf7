package sandbox

import (
	"os"
	"time"
)

// IdleProcesses are those that do nothing.
func (s *Sandbox) IdleProcesses() (idle []*os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.idle {
		idle = append(idle, p.cmd.Process)
	}
	return idle
}

// serveBadly greets as [Serve] does, reads a request and does something else.
func serveBadly(act func()) int {
	if err := confine(); err != nil {
		return 1
	}
	if err := writeJSON(os.Stdout, greeting{}); err != nil {
		return 1
	}
	if _, err := readFrame(os.Stdin, maxRequest); err != nil {
		return 1
	}
	act()
	return 0
}

var hoard [][]byte

// ServeHoarding takes all the memory that there is, outside of the engine.
func ServeHoarding() int {
	return serveBadly(func() {
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	})
}

// ServeSilently does not answer.
func ServeSilently() int { return serveBadly(func() { time.Sleep(time.Minute) }) }

// ServeGarbage answers with a frame that is none of its kind.
func ServeGarbage() int {
	return serveBadly(func() {
		_ = writeFrame(os.Stdout, []byte("{]"))
		time.Sleep(time.Minute)
	})
}

// ServeEndlessly announces more than anybody would read.
func ServeEndlessly() int {
	return serveBadly(func() {
		_, _ = os.Stdout.Write([]byte{0xff, 0xff, 0xff, 0xff})
		time.Sleep(time.Minute)
	})
}
