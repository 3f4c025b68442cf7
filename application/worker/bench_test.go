package worker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// BenchmarkWorker measures how many runs of a webhook and two transforms one process
// works through in a second, when they wait already.
func BenchmarkWorker(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newEnv(b, open(b))
			ver := w.NewVersion(twoTransforms, twoTransformEdges)
			for left := b.N; left > 0; left -= 1000 {
				w.Accept(ver, min(left, 1000), fixture.RunOptions{})
			}
			b.ResetTimer()
			began := time.Now()
			var finished atomic.Int64
			w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
				st.Runs.Runs = counting{st.Runs.Runs, &finished}
				return st
			}
			stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{}))
			w.Eventually("all runs have finished", func() bool { return finished.Load() >= int64(b.N) })
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
			b.StopTimer()
			stop()
			if err := w.Errors(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkWorkerItems measures the same of the runs of items, which each begin when another one has
// ended.
func BenchmarkWorkerItems(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newEnv(b, open(b))
			ver := w.each(`, "concurrency": 100`, []string{
				`each/total transform {"expression": "({ total: item * 2 })"}`, `each/notice transform {"expression": "({ text: ` + "`${input.total}`" + ` })"}`,
			}, "total -> notice")
			b.ResetTimer()
			began := time.Now()
			stop := w.StartWorker()
			for left := b.N; left > 0; left -= run.MaxItems {
				id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(min(left, run.MaxItems))})[0]
				if got := w.Until(id, "the run ends", fixture.Finished); got.Status() != run.StatusCompleted {
					b.Fatal(got.Failure())
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
			b.StopTimer()
			stop()
			if err := w.Errors(); err != nil {
				b.Error(err)
			}
		})
	}
}

// counting counts the runs that finish, as soon as that is written.
type counting struct {
	outbound.RunRepository
	finished *atomic.Int64
}

func (c counting) Record(ctx context.Context, steps ...outbound.RunStep) error {
	err := c.RunRepository.Record(ctx, steps...)
	for _, step := range steps {
		if err == nil && step.Run.Status().Finished() {
			c.finished.Add(1)
		}
	}
	return err
}

// BenchmarkWorkerCalls measures runs that are started one by one, as calls do, by eight
// callers who wait for nothing, while one process works on them.
func BenchmarkWorkerCalls(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newEnv(b, open(b))
			ver := w.NewVersion(twoTransforms, twoTransformEdges)
			var finished atomic.Int64
			w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
				st.Runs.Runs = counting{st.Runs.Runs, &finished}
				return st
			}
			stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{}))
			b.ResetTimer()
			began := time.Now()
			b.SetParallelism(4)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					w.Accept(ver, 1, fixture.RunOptions{})
				}
			})
			w.Eventually("all runs have finished", func() bool { return finished.Load() >= int64(b.N) })
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
			b.StopTimer()
			stop()
			if err := w.Errors(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkWorkerLatency measures how long it takes from the commit of an accepted call
// to the first node, one call at a time.
func BenchmarkWorkerLatency(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": fixture.OpenSQLite, "PostgreSQL": fixture.OpenPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newEnv(b, open(b))
			began := make(chan time.Time, 1)
			w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
				began <- time.Now()
				return outbound.NodeCompleted{}, nil
			}
			ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
			stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{}))
			var all []time.Duration
			for b.Loop() {
				w.Accept(ver, 1, fixture.RunOptions{})
				told := time.Now()
				all = append(all, (<-began).Sub(told))
				time.Sleep(20 * time.Millisecond) // a call now and then
			}
			stop()
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
