package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// The engines that gateways can have runs begin with.
const (
	engineTable    = "table"
	engineTemporal = "temporal"
)

// temporal is a Temporal server of the round's own.
type temporal struct {
	*harness.Temporal
	outages

	leaving sync.Mutex // one outage after another
}

// startEngine starts what gateways hand runs over to, and returns what they are told of it.
func (e *env) startEngine(ctx context.Context) (environ []string, err error) {
	if e.engine != engineTemporal {
		return nil, nil
	}
	e.logf("starting a Temporal server")
	server, err := harness.StartTemporal(ctx, e.dir)
	if err != nil {
		return nil, err
	}
	e.temporal = &temporal{Temporal: server}
	return []string{"SLUICE_ENGINE=" + engineTemporal, "SLUICE_TEMPORAL_ADDRESS=" + server.Address}, nil
}

// outages lists those of everything that gateways need to move a run on.
func (e *env) outages() []*outages {
	all := []*outages{&e.database.outages}
	if e.temporal != nil {
		all = append(all, &e.temporal.outages)
	}
	return all
}

// killEngine ends the Temporal server as a crash does, and starts it again on its data after a while.
func (e *env) killEngine(ctx context.Context, down time.Duration) {
	e.temporal.leaving.Lock()
	defer e.temporal.leaving.Unlock()
	defer e.temporal.begin()()
	e.temporal.Kill()
	harness.Sleep(ctx, down)
	if err := e.temporal.Start(ctx); err != nil {
		e.found.add(comesBack, "the Temporal server did not come back: %v", err)
		return
	}
	e.faults.record(func() { e.faults.engineKills++ })
}

// leaveEngineAway does the same for so long that clients would notice: calls have to be accepted meanwhile, as many as are made.
func (e *env) leaveEngineAway(ctx context.Context, length time.Duration) {
	before := e.accepted.Load()
	e.killEngine(ctx, length)
	accepted := e.accepted.Load() - before
	e.faults.record(func() {
		e.faults.absences++
		e.faults.acceptedAway += accepted
	})
	made := float64(e.runs) * length.Seconds() / e.length.Seconds()
	e.found.check(float64(accepted) >= made/2, acceptedAway, "%d calls were accepted in %s without Temporal, in which some %.0f were made", accepted, length, made)
}

// auditEngine checks with what the runs began. Those of items always do with the table.
func (ev *evidence) auditEngine(found *findings) {
	for _, r := range ev.runs {
		want := ev.engine
		if r.item {
			want = engineTable
		}
		found.check(r.engine == want, rightEngine, "run %s began with the engine %q and not with %q", r.id, r.engine, want)
	}
}

// engineLines are those of the ledger about the Temporal server.
func (f *faultLog) engineLines() [][2]string {
	return [][2]string{
		{"Temporal killed", fmt.Sprint(f.engineKills)},
		{"… of which for long", fmt.Sprintf("%d, with %d calls accepted meanwhile", f.absences, f.acceptedAway)},
	}
}
