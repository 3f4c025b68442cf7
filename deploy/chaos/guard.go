package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// guard keeps a gateway running and ends it when it takes more memory than it may. The
// kernel notes the peak of a process's resident memory, so that a peak between two looks
// is found, too.
type guard struct {
	gateway *gateway
	limit   int64
	found   *findings

	mu     sync.Mutex
	phase  string // what is being done to the gateway
	since  time.Time
	peak   int64
	deaths []death
}

// death is an end of the process that nobody asked for.
type death struct {
	phase string
	after time.Duration // since the phase began
	cause string
}

func (d death) String() string {
	return fmt.Sprintf("%s after the beginning of %q: %s", d.after.Round(100*time.Millisecond), d.phase, d.cause)
}

// lookEvery is how often the memory is looked at.
const lookEvery = 50 * time.Millisecond

// setPhase names what is being done to the gateway from now on.
func (g *guard) setPhase(phase string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase, g.since = phase, time.Now()
}

// currentPhase is what is being done to the gateway.
func (g *guard) currentPhase() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.phase
}

// restartOnExit starts the process again whenever it ends, and counts that, until ctx ends or
// the process was asked to end.
func (g *guard) restartOnExit(ctx context.Context) {
	for ctx.Err() == nil {
		cause := g.watch(ctx)
		if cause == "" {
			return
		}
		g.mu.Lock()
		d := death{g.phase, time.Since(g.since), cause}
		g.deaths = append(g.deaths, d)
		g.mu.Unlock()
		g.found.add(processLives, "%s", d)
		if !harness.Sleep(ctx, 200*time.Millisecond) || g.gateway.isEndExpected() || g.gateway.start() != nil {
			return
		}
	}
}

// watch waits until the process ends by itself or takes too much, which ends it, and says
// why; it says nothing when ctx ends or the process was asked to end.
func (g *guard) watch(ctx context.Context) (cause string) {
	p := g.gateway.Process()
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-p.Ended():
			if g.gateway.isEndExpected() {
				return ""
			}
			return fmt.Sprintf("it ended with exit code %d: %s", p.ExitCode(), p.LogTail())
		case <-looks.C:
		}
		_, peak, err := harness.Memory(p.PID())
		if err != nil {
			continue // it is ending
		}
		g.recordPeak(peak)
		if peak > g.limit {
			p.Kill()
			return fmt.Sprintf("its memory reached %s of %s", formatBytes(peak), formatBytes(g.limit))
		}
	}
}

func (g *guard) recordPeak(peak int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peak = max(g.peak, peak)
}

// deathsByPhase sums up how often the process died in each phase.
func deathsByPhase(deaths []death) (lines []string) {
	times := make(map[string]int)
	for _, d := range deaths {
		times[d.phase]++
	}
	for _, d := range deaths {
		if n := times[d.phase]; n > 0 {
			lines = append(lines, fmt.Sprintf("%d in %q, the first %s after its beginning", n, d.phase, d.after.Round(100*time.Millisecond)))
			times[d.phase] = 0
		}
	}
	return lines
}

// report returns the highest peak and the deaths.
func (g *guard) report() (peak int64, deaths []death) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peak, append([]death(nil), g.deaths...)
}

func formatBytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
