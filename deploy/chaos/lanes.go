package main

import (
	"slices"

	"github.com/sluicehq/sluice/deploy/harness"
)

// What becomes of a call for a line that a run is live of.
const (
	overflowQueue         = "queue"
	overflowSkip          = "skip"
	overflowCancelRunning = "cancelRunning"
)

// lines is how many different keys the orders of a tenant have.
const lines = 4

// laneScenarios are workflows of which one run of each line is live at a time.
func laneScenarios() (all []*scenario) {
	for _, overflow := range []string{overflowQueue, overflowSkip, overflowCancelRunning} {
		all = append(all, &scenario{
			name: "one of a line, " + overflow, share: 5, overflow: overflow, delay: waitTime / 2, done: func(int) []string { return []string{"rest", "made"} },
			nodes: []map[string]any{
				harness.Node("rest", "wait", map[string]any{"delayMs": (waitTime / 2).Milliseconds()}), harness.Transform("made", "{ of: payload.call }"),
			},
			edges: harness.Chain("rest", "made"),
		})
	}
	return all
}

// skip notes that a call started no run, since another one was live.
func (o *order) skip(live string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.skipped = append(o.skipped, live)
}

// auditSkipped checks a call that was skipped: it has no run, and the one that it was answered with
// is of its line. It says whether the call was skipped.
func (ev *evidence) auditSkipped(found *findings, o *order, runs []*storedRun, of map[string]*order) bool {
	if len(o.skipped) == 0 {
		return false
	}
	found.check(len(runs)+len(o.runs) == 0, acknowledged, "call %s was skipped, and answered with %v; it has %d runs", o.call, o.runs, len(runs))
	for _, id := range o.skipped {
		found.check(id == o.skipped[0], acknowledged, "call %s was skipped for %s and for %s", o.call, o.skipped[0], id)
	}
	var other *order
	if r := ev.runs[o.skipped[0]]; r != nil && r.tenant == o.tenant.id {
		other = of[r.call]
	}
	found.check(o.scenario.overflow == overflowSkip && other != nil && o.sharesLine(other), oneOfALine, "call %s was skipped for run %s, which is of another line", o.call, o.skipped[0])
	return true
}

// sharesLine says whether the runs of two orders are bounded together.
func (o *order) sharesLine(other *order) bool {
	return o != other && o.tenant == other.tenant && o.scenario == other.scenario && o.line == other.line
}

// superseded says whether a run may have been cancelled for another one.
func (ev *evidence) superseded(o *order) bool {
	return o.scenario.overflow == overflowCancelRunning && slices.ContainsFunc(ev.orders, func(other *order) bool { return o.sharesLine(other) && len(other.runs) > 0 })
}

// clockSlack is by how much the clocks of processes may differ, in milliseconds: each reads that of the
// database now and then.
const clockSlack = 500

// auditLanes checks that the runs of a line went one after another.
func (ev *evidence) auditLanes(found *findings) {
	type line struct {
		trigger string
		number  int
	}
	bounded := make(map[line][]*storedRun)
	for _, o := range ev.orders {
		r := ev.runs[o.run()]
		if o.scenario.overflow == "" || r == nil || r.count("run.started", "") == 0 {
			continue // or it never began
		}
		of := line{r.trigger, o.line}
		bounded[of] = append(bounded[of], r)
	}
	for _, runs := range bounded {
		slices.SortFunc(runs, func(a, b *storedRun) int { return int(a.history[0].At - b.history[0].At) })
		for i, r := range runs[1:] {
			before := runs[i].history
			end := before[len(before)-1].At
			found.check(end <= r.history[0].At+clockSlack, oneOfALine, "run %s began %d ms before %s of the same line ended", r.id, end-r.history[0].At, runs[i].id)
		}
	}
}
