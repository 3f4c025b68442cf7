package worker_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// stages are when a run of the quiet tenant got through what it waits for.
type stages struct {
	mu                             sync.Mutex
	owner                          tenant.ID
	told, leased, asked, kept, out time.Time
	done                           chan struct{}
}

// lending notes when the quiet tenant's runs are leased.
type lending struct {
	outbound.RunQueue
	*stages
}

func (l lending) Claim(ctx context.Context, c outbound.RunClaim) ([]outbound.LeasedRun, error) {
	leased, err := l.RunQueue.Claim(ctx, c)
	for _, one := range leased {
		l.note(one.Lease.Tenant, &l.leased)
	}
	return leased, err
}

// keeping notes when their steps are recorded.
type keeping struct {
	outbound.RunRepository
	*stages
}

func (k keeping) Record(ctx context.Context, steps ...outbound.RunStep) error {
	for _, s := range steps {
		if s.Run.Status() == run.StatusRunning {
			k.note(s.Run.Tenant(), &k.asked)
		}
	}
	err := k.RunRepository.Record(ctx, steps...)
	for _, s := range steps {
		if s.Run.Status() == run.StatusRunning {
			k.note(s.Run.Tenant(), &k.kept)
		}
	}
	return err
}

func (s *stages) note(of tenant.ID, at *time.Time) {
	if of == s.owner {
		s.mu.Lock()
		*at = time.Now()
		s.mu.Unlock()
	}
}

// BenchmarkWorkerNeighbour measures how long a tenant's run takes from its commit to its
// first node next to another tenant who has 20,000 runs waiting, and where that goes:
// until it is leased, until its first step goes to the store, until that is written, and
// until its node begins.
func BenchmarkWorkerNeighbour(b *testing.B) {
	calls, computes := []string{"a " + fixture.CallNode}, twoTransforms
	for _, c := range []struct {
		name         string
		nodes, edges []string
		backlog      int
		takes        time.Duration
	}{
		{"alone", calls, nil, 0, 0},
		{"nodes of 1 s", calls, nil, 20_000, time.Second},
		{"nodes of 50 ms", calls, nil, 20_000, 50 * time.Millisecond},
		{"nodes that compute", computes, twoTransformEdges, 40_000, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newEnv(b, fixture.OpenPostgres(b))
			quiet := w.NewVersion(calls, nil)
			s := &stages{owner: w.Owner, done: make(chan struct{}, 1)}
			w.Owner = w.NewTenant()
			busy := w.NewVersion(c.nodes, c.edges)
			w.NodeRunner.Answer = func(ctx context.Context, n outbound.NodeCall) (outbound.NodeOutcome, error) {
				if n.Tenant == s.owner {
					s.note(n.Tenant, &s.out)
					s.done <- struct{}{}
					return outbound.NodeCompleted{}, nil
				}
				select {
				case <-time.After(c.takes):
				case <-ctx.Done():
				}
				return outbound.NodeCompleted{}, nil
			}
			w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
				st.Runs.Queue, st.Runs.Runs = lending{st.Runs.Queue, s}, keeping{st.Runs.Runs, s}
				return st
			}
			for left := c.backlog; left > 0; left -= 1000 {
				w.Accept(busy, min(left, 1000), fixture.RunOptions{})
			}
			stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{Concurrency: 256, PerTenant: 64}))
			time.Sleep(200 * time.Millisecond) // until the flood flows
			measureStarts(b, w, quiet, s)
			b.StopTimer()
			stop()
		})
	}
}

func measureStarts(b *testing.B, w *env, quiet *workflow.Version, s *stages) {
	var all [5][]time.Duration
	for b.Loop() {
		w.Accept(quiet, 1, fixture.RunOptions{})
		s.note(s.owner, &s.told)
		<-s.done
		s.mu.Lock()
		for i, d := range []time.Duration{s.out.Sub(s.told), s.leased.Sub(s.told), s.asked.Sub(s.leased), s.kept.Sub(s.asked), s.out.Sub(s.kept)} {
			all[i] = append(all[i], d)
		}
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond) // a call now and then
	}
	for i, name := range []string{"", "-leased", "-asked", "-kept", "-out"} {
		slices.Sort(all[i])
		n := len(all[i])
		b.ReportMetric(float64(all[i][n/2].Microseconds())/1000, "p50"+name+"-ms")
		b.ReportMetric(float64(all[i][n*99/100].Microseconds())/1000, "p99"+name+"-ms")
	}
}

// BenchmarkWorkerTenants is BenchmarkWorker where the runs are of a hundred tenants.
func BenchmarkWorkerTenants(b *testing.B) {
	w := newEnv(b, fixture.OpenPostgres(b))
	const tenants = 100
	for range tenants {
		w.Owner = w.NewTenant()
		w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), b.N/tenants+1, fixture.RunOptions{})
	}
	all := int64(tenants * (b.N/tenants + 1))
	b.ResetTimer()
	began := time.Now()
	var finished atomic.Int64
	w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = counting{st.Runs.Runs, &finished}
		return st
	}
	stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{Concurrency: 256, PerTenant: 64}))
	w.Eventually("all runs have finished", func() bool { return finished.Load() >= all })
	b.ReportMetric(float64(all)/time.Since(began).Seconds(), "runs/s")
	b.StopTimer()
	stop()
}
