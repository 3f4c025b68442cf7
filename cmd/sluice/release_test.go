package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/deploy/harness"
)

// released is the commit of the last release, 0.1.0.
const released = "696c3fc6f19efd4d2432d686bdc1be1bb7d35f83"

// lastRelease builds the gateway of the last release from the history of the repository.
func lastRelease(t *testing.T) (program string) {
	t.Helper()
	const repository = "../.."
	if _, err := os.Stat(filepath.Join(repository, ".git")); os.IsNotExist(err) {
		t.Skipf("########## NOT TESTED: there is no git repository to build the last release %s from", released)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "source.tar")
	find := exec.CommandContext(t.Context(), "git", "cat-file", "-e", released+"^{commit}")
	archive := exec.CommandContext(t.Context(), "git", "archive", "--output", source, released)
	find.Dir, archive.Dir = repository, repository
	if _, err := harness.Output(find); err != nil {
		t.Fatalf("the repository lacks the commit of the last release: get it with `git fetch --unshallow`, or `git fetch origin %s`: %v", released, err)
	}
	program = filepath.Join(dir, "sluice")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags=nomsgpack,grpcnotrace", "-o", program, "./cmd/sluice")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	for _, step := range []*exec.Cmd{archive, exec.CommandContext(t.Context(), "tar", "-xf", source, "-C", dir), build} {
		if _, err := harness.Output(step); err != nil {
			t.Fatalf("build the last release: %v", err)
		}
	}
	return program
}
