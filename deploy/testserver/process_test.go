package testserver_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

func startShell(t *testing.T, script string) *testserver.Process {
	t.Helper()
	p, err := testserver.Start(exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", script), filepath.Join(t.TempDir(), "log"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAProcessIsAwaitedByWhatItPrints(t *testing.T) {
	p := startShell(t, "echo first; sleep 0.05; echo port 4711 >&2; sleep 60")
	if port, err := p.AwaitLog(t.Context(), regexp.MustCompile(`port (\d+)`)); err != nil || port != "4711" {
		t.Errorf("%q, %v", port, err)
	}
	ended := startShell(t, "echo nothing of it; exit 3")
	if _, err := ended.AwaitLog(t.Context(), regexp.MustCompile(`port (\d+)`)); err == nil || !strings.Contains(err.Error(), "nothing of it") {
		t.Errorf("a process that ended: %v", err)
	}
	if code, tail := ended.ExitCode(), ended.LogTail(); code != 3 || tail != "nothing of it\n" {
		t.Errorf("exit code %d, %q", code, tail)
	}
}

func TestAProcessThatIgnoresSIGTERMIsKilled(t *testing.T) {
	obedient := startShell(t, `trap "exit 0" TERM; echo ready; while :; do sleep 0.01; done`)
	stubborn := startShell(t, `trap "" TERM; echo ready; while :; do sleep 0.01; done`)
	for p, code := range map[*testserver.Process]int{obedient: 0, stubborn: -1} {
		if _, err := p.AwaitLog(t.Context(), regexp.MustCompile(`ready`)); err != nil {
			t.Fatal(err)
		}
		within := 30 * time.Second
		if p == stubborn {
			within = 50 * time.Millisecond
		}
		if took := p.End(syscall.SIGTERM, within); p.ExitCode() != code || p == stubborn && took < within {
			t.Errorf("exit code %d after %s, want %d", p.ExitCode(), took, code)
		}
	}
}
