package runs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/ports/outbound"
)

// BenchmarkWorker measures how many runs of a webhook and two transforms one process
// works through in a second, when they wait already.
func BenchmarkWorker(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		b.Run(name, func(b *testing.B) {
			w := newWorkshop(b, open(b))
			ver := w.version(twoTransforms, twoTransformEdges)
			for left := b.N; left > 0; left -= 1000 {
				w.accept(ver, min(left, 1000), accepted{})
			}
			b.ResetTimer()
			began := time.Now()
			var finished atomic.Int64
			w.store.wrap = func(st outbound.Stores) outbound.Stores {
				st.Runs.Runs = counting{st.Runs.Runs, &finished}
				return st
			}
			stop := w.works(w.newWorker(w.store, w.signals, runs.WorkerOptions{}))
			w.eventually("all runs have finished", func() bool { return finished.Load() >= int64(b.N) })
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
			b.StopTimer()
			stop()
			if err := w.errors(); err != nil {
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

func (c counting) Record(ctx context.Context, step outbound.RunStep) error {
	err := c.RunRepository.Record(ctx, step)
	if err == nil && step.Run.Status().Finished() {
		c.finished.Add(1)
	}
	return err
}
