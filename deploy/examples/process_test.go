package examples

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// waitTimeout is how long anything is waited for.
const waitTimeout = 30 * time.Second

// process is a program that runs next to the test.
type process struct {
	*testserver.Process
	name string
}

// start starts a program, which is stopped when the test ends.
func start(t *testing.T, name string, environ []string, program string, args ...string) process {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Env = append(os.Environ(), environ...)
	started, err := testserver.Start(cmd, filepath.Join(t.TempDir(), "output"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	p := process{started, name}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, p.printed(t))
		}
	})
	return p
}

// printed is what the program has printed.
func (p process) printed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits until the program has printed what matches the pattern, and returns its
// last group.
func (p process) await(t *testing.T, pattern string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	found, err := p.AwaitLog(ctx, regexp.MustCompile(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// count is how often what the program has printed matches the pattern.
func (p process) count(t *testing.T, pattern string) int {
	t.Helper()
	return len(regexp.MustCompile(pattern).FindAllString(p.printed(t), -1))
}

// runProgram runs a program to its end, and returns what it printed. fails says that it
// has to fail.
func runProgram(t *testing.T, environ []string, fails bool, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environ...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || (err != nil) != fails {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}
