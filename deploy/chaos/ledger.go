package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ledger is what came out of a round.
type ledger struct {
	seed     uint64
	lines    [][2]string // what, and how much
	promises []promise
	found    *findings
}

// newLedger sums up.
func (e *env) newLedger(ev *evidence) ledger {
	f := e.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	l := ledger{seed: e.seed, promises: promises(), found: e.found}
	line := func(what, format string, args ...any) {
		l.lines = append(l.lines, [2]string{what, fmt.Sprintf(format, args...)})
	}
	byStatus, results := make(map[string]int), 0
	for _, r := range ev.runs {
		byStatus[r.status]++
		for _, e := range r.history {
			if e.Type == "node.completed" {
				results++
			}
		}
	}
	calls := 0
	for _, o := range ev.orders {
		if len(o.runs) > 0 {
			calls++
		}
	}
	acknowledgements := e.accepted.Load()
	line("calls acknowledged", "%d of %d, in %d answers", calls, len(ev.orders), acknowledgements)
	line("requests", "%d sent, %d unanswered, %d put off with Retry-After", e.clients.sent.Load(), e.clients.unanswered.Load(), e.clients.refused.Load())
	line("runs", "%d, of which %d by schedules", len(ev.runs), len(ev.fires))
	line("runs by status", "%s", counts(byStatus))
	line("node results recorded", "%d, %d broken", results, e.found.broken(recordedOnce))
	attempts, happened, times, lostAnswers := sumEffects(ev.effects)
	line("calls to the receiver", "%d, under %d keys", attempts, len(ev.effects))
	line("effects", "%d keys, %d repeated, of which the receiver lost the answer to %d", happened, times-happened, min(lostAnswers, times-happened))
	line("calls made again", "%d, for something that ended, froze or was cut", ev.repeats())
	delivered := 0
	for _, h := range ev.delivered {
		delivered += h.times
	}
	line("events", "%d, delivered %d times", len(ev.events), delivered)
	line("versions published", "%d, which moved %d triggers", e.publisher.published.Load(), e.publisher.moved.Load())
	l.lines = append(l.lines, e.verified...)
	line("processes killed", "%d", f.kills)
	line("processes frozen", "%d", f.freezes)
	line("database restarted", "%d", f.restarts)
	line("database stalled", "%d", f.stalls)
	line("connections cut", "%d, in %d cuts", f.connectionsCut, f.cuts)
	if e.temporal != nil {
		l.lines = append(l.lines, f.engineLines()...)
	}
	line("takeover after a kill", "%s", spread(f.takeovers))
	line("… with the database or Temporal away", "%s", spread(f.hindered))
	line("recovery of a process", "%s", spread(f.recoveries))
	return l
}

func counts(of map[string]int) string {
	var parts []string
	for name, n := range of {
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// spread sums durations up.
func spread(of []time.Duration) string {
	if len(of) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(of))
	at := func(percent int) time.Duration { return sorted[(len(sorted)-1)*percent/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d: p50 %s, p99 %s, longest %s", len(of), at(50), at(99), at(100))
}

// report shows the ledger, and is an error unless every promise was kept.
func (l ledger) report(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\nseed\t%d\n", l.seed) // Flush reports errors
	for _, line := range l.lines {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	_, _ = fmt.Fprintln(w)
	for _, p := range l.promises {
		outcome := "kept"
		if n := l.found.broken(p); n > 0 {
			outcome = fmt.Sprintf("BROKEN %d times", n)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", p, outcome)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := l.found.err(); err != nil {
		return fmt.Errorf("promises were broken (seed %d):%w", l.seed, err)
	}
	return nil
}
