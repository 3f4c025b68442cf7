package main

import "time"

// aftermath is how long what a disturbance did may go on after it: a process that was frozen finds that its leases are
// gone once it has the processor, and its calls under way end.
const aftermath = 3 * time.Second

// disturb notes that something ended, froze or was cut, from then until now.
func (l *faultLog) disturb(from time.Time) {
	l.record(func() { l.disturbed = append(l.disturbed, span{from, time.Now()}) })
}

// disturbances lists when something ended, froze or was cut.
func (e *env) disturbances() (all []span) {
	e.faults.record(func() { all = append(all, e.faults.disturbed...) })
	for _, o := range e.outages() {
		all = append(all, o.during(time.Time{}, time.Now())...)
	}
	return all
}

// auditRepeats checks that calls were made as often as the histories say, and again only where that is excused.
func (ev *evidence) auditRepeats(found *findings) {
	for _, e := range ev.effects {
		repeats := ev.repeatsOf(e)
		excused := excusedRepeats(e.calls, ev.disturbed)
		found.check(repeats <= excused, repeatsExcused, "%s: %d more calls than attempts, and %d disturbances meanwhile", e, repeats, excused)
	}
}

// repeats counts the calls that were made again.
func (ev *evidence) repeats() (sum int) {
	for _, e := range ev.effects {
		sum += ev.repeatsOf(e)
	}
	return sum
}

// repeatsOf is how many calls there are beyond the attempts that the history has.
func (ev *evidence) repeatsOf(e effect) int {
	r := ev.runs[e.run]
	if r == nil {
		return 0 // auditEffects says so
	}
	return max(0, len(e.calls)-r.count("node.started", e.node)-e.repeatsOfHTTP(r))
}

// repeatsOfHTTP is how often HTTP itself may have repeated a call within an attempt, which it does where the receiver
// closed a connection that had served another call before. Then the history has no failure. A failure that a process
// got and did not live to record counts here, too.
func (e effect) repeatsOfHTTP(r *storedRun) int {
	unrecorded := -r.count("node.retrying", e.node) - r.count("node.failed", e.node)
	for _, n := range e.failures {
		unrecorded += n
	}
	return max(0, min(unrecorded, e.failures[closedBefore]+e.failures[closedAfter]))
}

// excusedRepeats is how many of the calls after the first one may be repeats: between each of them and the one
// before there was a disturbance of its own. Both are taken in order, so that each gap gets the disturbance that is over first.
func excusedRepeats(calls []time.Time, disturbed []span) (n int) {
	used := make([]bool, len(disturbed))
	for i := 1; i < len(calls); i++ {
		first := -1
		for j, d := range disturbed {
			meets := !d.from.After(calls[i]) && !d.to.Add(aftermath).Before(calls[i-1])
			if meets && !used[j] && (first < 0 || d.to.Before(disturbed[first].to)) {
				first = j
			}
		}
		if first >= 0 {
			used[first] = true
			n++
		}
	}
	return n
}
