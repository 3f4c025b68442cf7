package examples

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long anything is waited for.
const patience = 30 * time.Second

// process is a program that runs beside the test, with what it printed.
type process struct {
	name string
	cmd  *exec.Cmd

	mu    sync.Mutex
	text  bytes.Buffer
	news  chan struct{} // closed and replaced with every line
	ended chan struct{} // closed when the program has ended
}

// start starts a program, which is stopped when the test ends.
func start(t *testing.T, name string, environ []string, program string, args ...string) *process {
	t.Helper()
	p := &process{name: name, news: make(chan struct{}), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	p.cmd.Env = append(base(), environ...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // who waits for more of its text finds out that it has ended
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, p)
		}
	})
	return p
}

// base is the environment without what would configure the programs.
func base() (kept []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SLUICE_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// stop asks the program to end, and ends it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// Write keeps what the program prints.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.news)
	p.news = make(chan struct{})
	return p.text.Write(text)
}

// String is what the program has printed.
func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until the program has printed what fits the pattern, and returns its
// first group.
func (p *process) await(t *testing.T, pattern string) string {
	t.Helper()
	wanted, deadline := regexp.MustCompile(pattern), time.After(patience)
	for over := false; ; {
		p.mu.Lock()
		found, news := wanted.FindStringSubmatch(p.text.String()), p.news
		p.mu.Unlock()
		switch {
		case found != nil:
			return found[len(found)-1]
		case over:
			t.Fatalf("%s did not print %s, but:\n%s", p.name, pattern, p)
		}
		select {
		case <-news:
		case <-p.ended:
			over = true
		case <-deadline:
			over = true
		}
	}
}

// count is how often what the program has printed fits the pattern.
func (p *process) count(pattern string) int {
	return len(regexp.MustCompile(pattern).FindAllString(p.String(), -1))
}

// perform runs a program to its end, and returns what it printed. fails says that it
// is to fail.
func perform(t *testing.T, environ []string, fails bool, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(base(), environ...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || (err != nil) != fails {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, &out, &problem)
	}
	return out.String() + problem.String()
}
