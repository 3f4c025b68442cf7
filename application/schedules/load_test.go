package schedules_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// many is how many schedules are due at one instant where speed is measured.
const many = 10_000

func TestThousandsOfSchedulesOfOneInstantEachFireOnce(t *testing.T) {
	many := 2500 // several units of work
	if testing.Short() {
		many = 1000
	}
	onEachStore(t, func(w *env) {
		all := w.schedule(many, `{"cron":"* * * * *"}`)
		w.fire(noon)
		begin := time.Now()
		w.fire(noon.Add(time.Minute))
		took := time.Since(begin)
		w.Logf("%d fires in %s, %.0f a second", many, took.Round(time.Millisecond), float64(many)/took.Seconds())
		if len(w.runs.started) != many {
			w.Errorf("%d runs were started", len(w.runs.started))
		}
		fired := make(map[string]int)
		for _, r := range w.runs.started {
			fired[string(r.Trigger())+r.DedupeKey()]++
		}
		if len(fired) != many {
			w.Errorf("%d different instants were fired", len(fired))
		}
		for _, i := range []int{0, many / 2, many - 1} {
			if got := w.ledger(all[i]); got != "01 12:01:00 fired" {
				w.Errorf("%s: %s", all[i].ID(), got)
			}
		}
	})
}

// shifted is a clock that goes on, ahead of the real one.
type shifted time.Duration

func (s shifted) Now() time.Time {
	return time.Now().Add(time.Duration(s)).UTC().Truncate(time.Millisecond)
}

// BenchmarkTenThousandDueAtOnce lets ten thousand schedules become due while three
// processes watch one PostgreSQL, and reports how late they fire.
func BenchmarkTenThousandDueAtOnce(b *testing.B) {
	const lead = 300 * time.Millisecond
	for range b.N {
		b.StopTimer()
		w := onPostgres(b)
		w.schedule(many, `{"intervalMs":60000}`)
		w.fire(noon)
		clock := shifted(time.Until(noon) + time.Minute - lead)
		late := &lateness{due: noon.Add(time.Minute), clock: clock, enough: make(chan struct{})}
		ctx, stop := context.WithCancel(b.Context())
		b.StartTimer()
		var done sync.WaitGroup
		for range 3 {
			s := schedules.NewScheduler(lateStore{timed{openPostgres(b, w.address), clock}, late}, nil, w.runs, clock, counted, execution.NewAllowance(clock, nil))
			done.Go(func() { s.Run(ctx, func(err error) { b.Error(err) }) })
		}
		<-late.enough
		b.StopTimer()
		stop()
		done.Wait()
		slices.Sort(late.all)
		b.ReportMetric(late.all[len(late.all)/2].Seconds(), "s-p50")
		b.ReportMetric(late.all[len(late.all)*99/100].Seconds(), "s-p99")
		b.ReportMetric(late.all[len(late.all)-1].Seconds(), "s-max")
		b.ReportMetric(many/late.all[len(late.all)-1].Seconds(), "fires/s")
	}
}

// lateness notes how long after the due time each run is started.
type lateness struct {
	due    time.Time
	clock  outbound.Clock
	enough chan struct{} // closed when all have fired

	mu  sync.Mutex
	all []time.Duration
}

// lateStore is a store whose started runs a lateness notes.
type lateStore struct {
	outbound.UnitOfWork
	late *lateness
}

func (s lateStore) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Runs.Runs = lateRuns{st.Runs.Runs, s.late}
		return fn(ctx, st)
	})
}

type lateRuns struct {
	outbound.RunRepository
	late *lateness
}

func (r lateRuns) Start(ctx context.Context, wanted ...*run.Run) ([]outbound.StartedRun, error) {
	became, err := r.RunRepository.Start(ctx, wanted...)
	r.late.mu.Lock()
	defer r.late.mu.Unlock()
	for range wanted {
		if r.late.all = append(r.late.all, r.late.clock.Now().Sub(r.late.due)); len(r.late.all) == many {
			close(r.late.enough)
		}
	}
	return became, err
}
