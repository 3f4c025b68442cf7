package portstest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// benchmark is a store that runs are put through.
type benchmark struct {
	*testing.B
	work outbound.UnitOfWork
}

// RunBenchmarks measures how fast runs are started, claimed and recorded.
func RunBenchmarks(b *testing.B, open func(b *testing.B) outbound.UnitOfWork) {
	for name, measure := range map[string]func(benchmark){
		"start, a unit each":                     func(b benchmark) { b.starting(1) },
		"start, a hundred in a unit":             func(b benchmark) { b.starting(100) },
		"claim, record twice":                    func(b benchmark) { b.working(10) },
		"claim one of 100000 runs, 1 tenant":     func(b benchmark) { b.claiming(1, 100_000) },
		"claim one of 100000 runs, 1000 tenants": func(b benchmark) { b.claiming(1000, 100) },
	} {
		b.Run(name, func(b *testing.B) { measure(benchmark{b, open(b)}) })
	}
}

func (b benchmark) must(fn func(ctx context.Context, st outbound.Stores) error) {
	if err := b.work.Do(b.Context(), fn); err != nil {
		b.Error(err)
	}
}

func (b benchmark) owner() tenant.ID {
	ten, err := tenant.New(tenant.ID(newID("tenant")), tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		b.Fatal(err)
	}
	b.must(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return ten.ID()
}

// accepted makes a run with a payload of a kilobyte that a trigger started long ago.
func accepted(owner tenant.ID) *run.Run {
	st := runState(owner)
	st.Payload = json.RawMessage(fmt.Sprintf(`{"order":"%01000d"}`, 7))
	return run.New(st.ID, run.Start{
		Tenant: owner, Workflow: st.Workflow, Version: st.Version, Entity: st.Entity, DedupeKey: st.DedupeKey, Cause: st.Cause, Payload: st.Payload,
		Trigger: trigger.Restore(trigger.State{ID: "trg_1", Type: trigger.Webhook}),
	}, noon.AddDate(-1, 0, 0))
}

func (b benchmark) start(owner tenant.ID, n int) {
	runs := make([]*run.Run, n)
	for i := range runs {
		runs[i] = accepted(owner)
	}
	b.must(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, runs...)
		return err
	})
}

func (b benchmark) starting(together int) {
	owner := b.owner()
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			b.start(owner, together)
		}
	})
	b.ReportMetric(float64(b.N*together)/b.Elapsed().Seconds(), "runs/s")
}

// working takes b.N runs of several tenants through a claim and two steps each, as a
// run with one node that has an effect outside needs.
func (b benchmark) working(tenants int) {
	const workers, batch = 8, 16
	for i := range tenants {
		owner := b.owner()
		for left := b.N/tenants + min(1, max(0, b.N%tenants-i)); left > 0; left -= 500 {
			b.start(owner, min(left, 500))
		}
	}
	b.ResetTimer()
	var worked atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for worked.Load() < int64(b.N) && !b.Failed() {
				var leased []outbound.LeasedRun
				b.must(func(ctx context.Context, st outbound.Stores) (err error) {
					leased, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "w", Period: time.Hour, Limit: batch, PerTenant: 1000})
					return err
				})
				for _, l := range leased {
					first := stepped(l.Run, l.Lease, busy)
					first.Keep = true
					for _, s := range []outbound.RunStep{first, stepped(first.Run, l.Lease, over)} {
						b.must(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, s) })
					}
				}
				worked.Add(int64(len(leased)))
			}
		})
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// claiming leases one run and gives it back, with many waiting.
func (b benchmark) claiming(tenants, each int) {
	for range tenants {
		owner := b.owner()
		for left := each; left > 0; left -= 1000 {
			b.start(owner, min(left, 1000))
		}
	}
	for b.Loop() {
		b.must(func(ctx context.Context, st outbound.Stores) error {
			leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "w", Period: time.Minute, Limit: 1, PerTenant: 10})
			if err != nil || len(leased) != 1 {
				return fmt.Errorf("%d were leased: %w", len(leased), err)
			}
			_, err = st.Runs.Queue.Renew(ctx, []outbound.RunLease{leased[0].Lease}, 0)
			return err
		})
	}
}
