package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// account is what came out of a round.
type account struct {
	seed     uint64
	lines    [][2]string // what, and how much
	promises []promise
	found    *findings
}

// account sums up.
func (s *stage) account(ev *evidence) account {
	b := s.books
	b.mu.Lock()
	defer b.mu.Unlock()
	a := account{seed: s.seed, promises: promises(), found: s.found}
	line := func(what, format string, args ...any) {
		a.lines = append(a.lines, [2]string{what, fmt.Sprintf(format, args...)})
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
	acknowledgements := s.accepted.Load()
	line("calls acknowledged", "%d of %d, in %d answers", calls, len(ev.orders), acknowledgements)
	line("requests", "%d sent, %d unanswered, %d put off with Retry-After", s.clients.sent.Load(), s.clients.unanswered.Load(), s.clients.refused.Load())
	line("runs", "%d, of which %d by schedules", len(ev.runs), len(ev.fires))
	line("runs by status", "%s", counts(byStatus))
	line("node results recorded", "%d, %d broken", results, s.found.broken(recordedOnce))
	attempts, happened, times, unsaid := sums(ev.effects)
	line("calls to the receiver", "%d, under %d keys", attempts, len(ev.effects))
	line("effects", "%d keys, %d repeated, of which the receiver lost the answer to %d", happened, times-happened, min(unsaid, times-happened))
	delivered := 0
	for _, h := range ev.heard {
		delivered += h.times
	}
	line("events", "%d, delivered %d times", len(ev.events), delivered)
	line("processes killed", "%d", b.kills)
	line("processes frozen", "%d", b.freezes)
	line("database restarted", "%d", b.restarts)
	line("database stalled", "%d", b.stalls)
	line("connections cut", "%d, in %d cuts", b.severed, b.cuts)
	line("takeover after a kill", "%s", spread(b.takeovers))
	line("… with the database away", "%s", spread(b.hindered))
	line("recovery of a process", "%s", spread(b.recoveries))
	return a
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

// print shows the ledger, and which promises were kept.
func (a account) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\nseed\t%d\n", a.seed) // Flush reports errors
	for _, l := range a.lines {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", l[0], l[1])
	}
	_, _ = fmt.Fprintln(w)
	for _, p := range a.promises {
		verdict := "kept"
		if n := a.found.broken(p); n > 0 {
			verdict = fmt.Sprintf("BROKEN %d times", n)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", p, verdict)
	}
	return w.Flush()
}

// err is nil when every promise was kept.
func (a account) err() error {
	if err := a.found.err(); err != nil {
		return fmt.Errorf("promises were broken (seed %d):%w", a.seed, err)
	}
	return nil
}
