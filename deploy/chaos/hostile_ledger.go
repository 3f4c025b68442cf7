package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// honestRun is a run of an honest tenant as the API shows it.
type honestRun struct {
	ID, Status string
	DedupeKey  string
	FinishedAt time.Time
	Error      *struct{ Code, Message string }
}

// auditHonest compares what honest tenants were answered with their runs, the calls of the
// receiver and the events of the listener, and measures how long runs took.
func (h *hostileRound) auditHonest(ctx context.Context) {
	want := h.calls.acknowledged()
	byCall := make(map[string][]string)
	effects, delivered := h.receiver.effects(), make(map[string]bool)
	for _, event := range h.listener.deliveredEvents() {
		delivered[event.run] = true
	}
	took := make(map[bool][]time.Duration)
	h.figures.phases = make(map[string]*phaseFigures)
	for _, t := range h.tenants {
		runs, _, err := harness.List[honestRun](ctx, h.get(t), "/runs")
		h.found.check(err == nil, acknowledged, "listing the runs of %s: %v", t.name, err)
		for _, r := range runs {
			byCall[r.DedupeKey] = append(byCall[r.DedupeKey], r.ID)
			c := want[r.ID]
			if c == nil {
				continue // the call was not acknowledged in time
			}
			if !h.found.checked(r.Status == "completed", everyRunEnds, "run %s of call %s (%s) is %s: %+v", r.ID, c.call, c.scenario.name, r.Status, r.Error) {
				continue
			}
			if r.FinishedAt.After(h.figures.stopAt) {
				h.figures.interrupted++ // it waited for the restart
			} else {
				length := max(0, r.FinishedAt.Sub(c.due)-c.scenario.delay)
				took[c.underAttack] = append(took[c.underAttack], length)
				h.phase(c).runs = append(h.phase(c).runs, length)
			}
			for _, node := range c.scenario.done(c.amount) {
				if slices.Contains(c.scenario.effects, node) {
					h.found.check(effects[r.ID+":"+node].times > 0, effectHappens, "node %s of run %s completed without its effect", node, r.ID)
				}
			}
			h.found.check(delivered[r.ID], eventsDelivered, "the end of run %s was never told", r.ID)
		}
	}
	answers := make(map[bool][]time.Duration)
	for _, c := range h.calls.list() {
		runs := byCall[c.dedupe]
		if c.run() == "" {
			h.found.add(onlyOwnLimits, "call %s was never acknowledged", c.call)
			continue
		}
		h.found.check(len(runs) == 1 && runs[0] == c.run(), acknowledged, "call %s was answered with %s and has the runs %v", c.call, c.run(), runs)
		answers[c.underAttack] = append(answers[c.underAttack], c.answered)
		h.phase(c).answers = append(h.phase(c).answers, c.answered)
	}
	h.figures.answers, h.figures.runs = answers, took
	h.compare("calls are answered", answers)
	h.compare("runs complete", took)
}

// phaseFigures is how long honest calls took while the hostile tenant did one thing.
type phaseFigures struct{ answers, runs []time.Duration }

func (h *hostileRound) phase(c *honestCall) *phaseFigures {
	f := h.figures.phases[c.phase]
	if f == nil {
		f = new(phaseFigures)
		h.figures.phases[c.phase] = f
	}
	return f
}

// compare checks how long something takes under attack by how long it takes alone.
func (h *hostileRound) compare(what string, of map[bool][]time.Duration) {
	most := time.Duration(float64(max(percentile(of[false], 99), h.settings.least)) * h.settings.times)
	p99 := percentile(of[true], 99)
	h.found.check(p99 <= most, staysResponsive, "%s within %s (p99), alone %s; at most %s", what, p99, percentile(of[false], 99), most)
}

// percentile is 0 for nothing.
func percentile(of []time.Duration, percent int) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[(len(sorted)-1)*percent/100].Round(100 * time.Microsecond)
}

// newLedger sums up.
func (h *hostileRound) newLedger() ledger {
	l := ledger{seed: h.seed, promises: hostilePromises(), found: h.found}
	line := func(what, format string, args ...any) {
		l.lines = append(l.lines, [2]string{what, fmt.Sprintf(format, args...)})
	}
	peak, deaths := h.guard.report()
	line("store", "%s", h.settings.store)
	line("memory", "peak %s of %s", formatBytes(peak), formatBytes(h.settings.memory))
	line("deaths", "%d", len(deaths))
	for _, text := range deathsByPhase(deaths) {
		line("…", "%s", text)
	}
	refused := 0
	for _, c := range h.calls.list() {
		refused += c.ownLimit
	}
	line("honest calls", "%d, of which %d acknowledged; %d times refused by the tenant's own limits", len(h.calls.list()), len(h.calls.acknowledged()), refused)
	for _, phase := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "next to the hostile tenant"}[phase]
		line("answers "+name, "%s", spread(h.figures.answers[phase]))
		line("runs "+name, "%s", spread(h.figures.runs[phase]))
	}
	for _, what := range []struct {
		name string
		of   map[bool][]time.Duration
	}{{"answers", h.figures.answers}, {"runs", h.figures.runs}} {
		line("p99 of "+what.name, "%.1f × of alone", float64(percentile(what.of[true], 99))/float64(max(1, percentile(what.of[false], 99))))
	}
	for _, name := range slices.Sorted(maps.Keys(h.figures.phases)) {
		f := h.figures.phases[name]
		line("p99 during "+name, "answers %s, runs %s", percentile(f.answers, 99), percentile(f.runs, 99))
	}
	line("end after SIGTERM", "%s", h.figures.stopTime.Round(time.Millisecond))
	line("runs not measured", "%d that SIGTERM interrupted, and that were completed after the restart", h.figures.interrupted)
	line("ready after a start", "%s", h.figures.startTime.Round(time.Millisecond))
	for _, attack := range h.settings.attacks {
		made := h.attacked[attack.Name]
		text := counts(made.Answers)
		answered := 0 // also that it is too much, or too large for the limit of memory
		for answer, n := range made.Answers {
			if answer != "unanswered" {
				answered += n
			}
		}
		h.found.check(answered > 0, attacksMade, "%s: %s, %s", attack.Name, text, made.Error)
		line("attack "+attack.Name, "%d times: %s", made.Rounds, cmp.Or(text, "nothing"))
		if made.Error != "" {
			line("…", "%.400s", made.Error)
		}
	}
	return l
}
