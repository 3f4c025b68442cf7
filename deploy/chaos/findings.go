package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// promise is one of the things that must hold whatever happens. Its text says what.
type promise string

// The promises.
const (
	onlyExpected    promise = "a gateway answers a call with success, a reason, or 503 with Retry-After"
	acknowledged    promise = "every acknowledged call has exactly one run, always the same one"
	everyRunEnds    promise = "every run ends as it should"
	historyWhole    promise = "a history has no gap and no entry twice"
	recordedOnce    promise = "a node's result is recorded once"
	sameKey         promise = "every attempt at a node bears the same Idempotency-Key"
	effectHappens   promise = "a node that completed had its effect"
	repeatsExcused  promise = "a call is made again only where something ended, froze or was cut meanwhile, once for each"
	instantOnce     promise = "each instant of a schedule is dealt with once, by one run"
	cancelStays     promise = "a cancelled run stays cancelled"
	dedupeHolds     promise = "a dedupe key starts one run"
	totalsAgree     promise = "lists and totals are what the database holds"
	eventsDelivered promise = "each end of a run is told by one event, delivered at least once"
	tenantsIsolated promise = "a tenant sees nothing of another"
	takenOver       promise = "the runs of a process that died go on within 10 seconds"
	comesBack       promise = "a gateway survives its database"
	oneOfALine      promise = "as many runs of one key are live as may be"
	usageExact      promise = "what is counted of a tenant's use is what the records say"
	auditWhole      promise = "the audit log is what was written"
	rightEngine     promise = "runs begin with the engine that was chosen"
	acceptedAway    promise = "calls are accepted while the engine is away"
	triggersFollow  promise = "triggers go along with the version that is published"
)

// promises lists them in the order of the report.
func promises() []promise {
	return []promise{
		onlyExpected, acknowledged, everyRunEnds, historyWhole, recordedOnce, sameKey, effectHappens, repeatsExcused, instantOnce, cancelStays, dedupeHolds,
		totalsAgree, eventsDelivered, tenantsIsolated, takenOver, comesBack, triggersFollow, usageExact, auditWhole, oneOfALine, rightEngine, acceptedAway,
	}
}

// The promises of a round with a hostile tenant, in addition to some of those above.
const (
	processLives    promise = "the process lives, within its memory"
	onlyOwnLimits   promise = "an honest call is answered at once, or refused by the limits of its own tenant"
	staysResponsive promise = "honest calls and runs take no more than a few times what they take alone"
	stopsInTime     promise = "SIGTERM ends the process within its bound"
	startsAgain     promise = "the process is ready soon after a start, whatever is left to do"
	attacksMade     promise = "every attack reached the gateway"
)

// hostilePromises lists those of a round with a hostile tenant.
func hostilePromises() []promise {
	return []promise{
		processLives, onlyOwnLimits, staysResponsive, acknowledged, everyRunEnds, effectHappens, sameKey, eventsDelivered, stopsInTime, startsAgain, attacksMade,
	}
}

// shownFindings of each promise are kept as examples.
const shownFindings = 8

// findings collects what broke a promise.
type findings struct {
	mu    sync.Mutex
	count map[promise]int
	shown map[promise][]string
}

func newFindings() *findings {
	return &findings{count: make(map[promise]int), shown: make(map[promise][]string)}
}

// add notes that a promise was broken.
func (f *findings) add(p promise, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[p]++
	if len(f.shown[p]) < shownFindings {
		f.shown[p] = append(f.shown[p], fmt.Sprintf(format, args...))
	}
}

// check notes it unless ok.
func (f *findings) check(ok bool, p promise, format string, args ...any) {
	if !ok {
		f.add(p, format, args...)
	}
}

// broken says how often a promise was broken.
func (f *findings) broken(p promise) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[p]
}

// err is nil when every promise was kept.
func (f *findings) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.count) == 0 {
		return nil
	}
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(f.count)) {
		fmt.Fprintf(&b, "\n%s: broken %d times\n  %s", p, f.count[p], strings.Join(f.shown[p], "\n  "))
	}
	return errors.New(b.String())
}
