package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/deploy/harness"
)

// takeoverLimit is how long the runs of a process that died may stand still: they go on
// within seconds.
const takeoverLimit = 10 * time.Second

// orphan is a run whose process died.
type orphan struct {
	lease      int64
	handedOver int64 // 1 where whoever leases it waits until the engine brings it to somebody, who has it under the next lease
	taken      bool
}

// watch finds the runs that a killed process had, and sees when each goes on with
// another one.
func (e *env) watch(ctx context.Context, name string, pid int, killed time.Time) {
	orphans := e.orphans(ctx, pid)
	ids := make([]string, 0, len(orphans))
	for id := range orphans {
		ids = append(ids, id)
	}
	for left := len(orphans); left > 0; {
		took := time.Since(killed)
		err := e.database.Each(ctx, func(scan func(...any) error) error {
			var id string
			var lease int64
			var finished, cancelled, leased bool
			if err := scan(&id, &lease, &finished, &cancelled, &leased); err != nil {
				return err
			}
			if o := orphans[id]; !o.taken && (finished || !leased || lease > o.lease+o.handedOver) {
				o.taken = true
				left--
				e.tookOver(killed, took, cancelled)
			}
			return nil
		}, `SELECT r.id, coalesce(l.lease, 0), r.finished_at IS NOT NULL, r.status = 'cancelled', l.lease_until IS NOT NULL
			FROM runs r LEFT JOIN live_runs l ON l.tenant_id = r.tenant_id AND l.id = r.id WHERE r.id = ANY($1)`, pq.Array(ids))
		switch {
		case err != nil: // the database is away, or was cut off
		case left > 0 && took > e.settle:
			for id, o := range orphans {
				e.found.check(o.taken, takenOver, "run %s of %s, process %d, stands still %s after it was killed", id, name, pid, took.Round(time.Second))
			}
			return
		}
		harness.Sleep(ctx, 50*time.Millisecond)
	}
}

// tookOver records a run that goes on. One that a client cancelled was not taken over.
func (e *env) tookOver(killed time.Time, took time.Duration, cancelled bool) {
	if cancelled {
		return
	}
	away := awayBetween(killed, killed.Add(took), e.outages()...)
	e.faults.record(func() {
		if away > 0 {
			e.faults.hindered = append(e.faults.hindered, took)
		} else {
			e.faults.takeovers = append(e.faults.takeovers, took)
		}
	})
	e.found.check(took-away <= takeoverLimit, takenOver, "a run of a process killed at %s went on after %s, in which what it needs was away for %s; frozen meanwhile: %s",
		killed.Sub(e.began).Truncate(time.Second), took.Round(time.Millisecond), away.Round(time.Millisecond), e.faults.frozenDuring(killed, killed.Add(took)))
}

// orphans reads which runs a process had, by the name that it gave itself: the machine,
// the process id and the start. The database may be away just now.
func (e *env) orphans(ctx context.Context, pid int) map[string]*orphan {
	for {
		found := make(map[string]*orphan)
		err := e.database.Each(ctx, func(scan func(...any) error) error {
			var id string
			var o orphan
			err := scan(&id, &o.lease, &o.handedOver)
			found[id] = &o
			return err
		}, `SELECT id, lease, CASE engine WHEN 'temporal' THEN 1 ELSE 0 END FROM live_runs WHERE worker LIKE $1 AND lease_until IS NOT NULL`, fmt.Sprintf("%%/%d/%%", pid))
		if err == nil || !harness.Sleep(ctx, 20*time.Millisecond) {
			return found
		}
	}
}
