package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/deploy/harness"
)

// released is the commit of the last release, 0.1.0.
const released = "696c3fc6f19efd4d2432d686bdc1be1bb7d35f83"

// shared is what the tests of this process build once.
var shared struct {
	once    sync.Once
	dir     string
	program string // of the last release
	err     error
}

// lastRelease is the gateway of the last release, built from the history of the repository.
func lastRelease(t *testing.T) (program string) {
	t.Helper()
	const repository = "../.."
	if _, err := os.Stat(filepath.Join(repository, ".git")); os.IsNotExist(err) {
		t.Skipf("########## NOT TESTED: there is no git repository to build the last release %s from", released)
	}
	find := exec.CommandContext(t.Context(), "git", "cat-file", "-e", released+"^{commit}")
	find.Dir = repository
	if _, err := harness.Output(find); err != nil {
		t.Fatalf("the repository lacks the commit of the last release: get it with `git fetch --unshallow`, or `git fetch origin %s`: %v", released, err)
	}
	shared.once.Do(func() { shared.err = buildLastRelease(repository) })
	if shared.err != nil {
		t.Fatalf("build the last release: %v", shared.err)
	}
	return shared.program
}

func buildLastRelease(repository string) (err error) {
	if shared.dir, err = os.MkdirTemp("", "sluice-release-"); err != nil {
		return err
	}
	source := filepath.Join(shared.dir, "source.tar")
	shared.program = filepath.Join(shared.dir, "sluice")
	archive := exec.Command("git", "archive", "--output", source, released)
	unpack := exec.Command("tar", "-xf", source, "-C", shared.dir)
	build := exec.Command("go", "build", "-trimpath", "-tags=nomsgpack,grpcnotrace", "-o", shared.program, "./cmd/sluice")
	archive.Dir, build.Dir, build.Env = repository, shared.dir, append(os.Environ(), "CGO_ENABLED=0")
	for _, step := range []*exec.Cmd{archive, unpack, build} {
		if _, err := harness.Output(step); err != nil {
			return err
		}
	}
	return nil
}
