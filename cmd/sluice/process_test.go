package main

import (
	"cmp"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram is the variable that makes this test binary be the program itself: what
// a signal, a limit of the system or the memory of a process does is tried on a real
// process.
const asProgram = "TEST_AS_SLUICE"

func init() {
	if os.Getenv(asProgram) != "" {
		main() // ends the process
	}
}

// process is the program in a process of its own.
type process struct {
	server
	cmd   *exec.Cmd
	ended chan struct{}
}

// spawn starts a command that serves in a process of its own and waits until it does.
func (b binary) spawn(args ...string) *process {
	b.Helper()
	return b.spawnBy(nil, args...)
}

// spawnBy does the same with a command that is given the program and its arguments.
func (b binary) spawnBy(command []string, args ...string) *process {
	b.Helper()
	p := b.launch(command, args...)
	url, ok := p.stderr.await(`"baseUrl":"(http://[^"]+)"`)
	if !ok {
		b.Fatalf("sluice %s did not start: %s", strings.Join(args, " "), p.stderr)
	}
	p.url = url
	return p
}

// launch starts a command and does not wait for anything.
func (b binary) launch(command []string, args ...string) *process {
	b.Helper()
	if b.program == "" {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		b.program = self
	}
	whole := slices.Concat(command, []string{b.program}, args)
	p := &process{server: server{stdout: newOutput(), stderr: newOutput()}, cmd: exec.Command(whole[0], whole[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), b.environ...), asProgram+"=yes")
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // exit tells how it ended
		p.stderr.end()
		close(p.ended)
	}()
	b.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.ended
		holdsNoSecret(b, p.stderr.String())
	})
	return p
}

// address is the host and port that it listens on.
func (p *process) address() string { return strings.TrimPrefix(p.url, "http://") }

// exit sends a signal, waits for the end and returns the exit code, -1 after a signal
// that killed it.
func (p *process) exit(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	return p.await(t)
}

func (p *process) await(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the process did not end: %s", p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// memory returns what a process keeps in memory and the most it ever did, in bytes.
// Where the system does not tell the latter, it is the former.
func (p *process) memory(t *testing.T) (now, peak int64) {
	t.Helper()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if os.IsNotExist(err) { // no Linux
		out, err := exec.CommandContext(t.Context(), "ps", "-o", "rss=", "-p", pid).Output()
		if err != nil {
			t.Fatal(err)
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes << 10, kilobytes << 10
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "VmRSS:" && fields[0] != "VmHWM:" {
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if fields[0] == "VmRSS:" {
			now = kilobytes << 10
		} else {
			peak = kilobytes << 10
		}
	}
	return now, cmp.Or(peak, now)
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_DRAIN_DELAY=1h")
	p := b.spawn("serve")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.stderr.await(`(not ready any more)`); !ok {
		t.Fatalf("the first signal did nothing: %s", p.stderr)
	}
	if code := p.exit(t, syscall.SIGTERM); code != -1 {
		t.Errorf("it ended by itself with %d: %s", code, p.stderr)
	}
}

func TestASecondInterruptStopsAtOnceInTheBackgroundOfAShell(t *testing.T) {
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_DRAIN_DELAY=1h")
	p := b.spawnBy([]string{"sh", "-c", `trap "" INT; exec "$0" "$@"`}, "serve")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.stderr.await(`(not ready any more)`); !ok {
		t.Fatalf("the first signal did nothing: %s", p.stderr)
	}
	if code := p.exit(t, syscall.SIGINT); code != exitSignal {
		t.Errorf("it ended with %d: %s", code, p.stderr)
	}
}
