package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
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

// Program is this test program. The race detector takes more memory than a confined process may
// have, and checks pointers that the engine, C that was made into Go, computes: a program with it
// has another one built without.
func Program(t testing.TB) string {
	t.Helper()
	path, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builtProgram = sync.OnceValues(func() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Executable()
	}
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "program")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program without the race detector: %w: %s", err, out)
	}
	RemoveProgram = func() { _ = os.RemoveAll(dir) }
	return path, nil
})

// RemoveProgram removes a program that was built.
var RemoveProgram = func() {}
