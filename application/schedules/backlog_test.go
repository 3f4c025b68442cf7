package schedules_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// meeting lets the units after the first one go on once three of them are under way.
type meeting struct {
	outbound.UnitOfWork
	mu         sync.Mutex
	begun      int
	allStarted chan struct{}
	ended      func() // is called after each unit
}

func (s *meeting) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	s.mu.Lock()
	s.begun++
	n := s.begun
	if n == 4 {
		close(s.allStarted)
	}
	s.mu.Unlock()
	if n > 1 {
		select {
		case <-s.allStarted:
		case <-ctx.Done(): // the unit ends for that, and the schedules stay due
		}
	}
	defer s.ended()
	return s.UnitOfWork.Do(ctx, fn)
}

func TestSeveralUnitsDealWithABacklog(t *testing.T) {
	onEachStore(t, func(w *env) {
		const many = 1200 // more than two units deal with
		w.schedule(many, `{"cron":"* * * * *"}`)
		w.fire(noon)
		w.clock.Set(noon.Add(time.Minute))
		ctx, stop := context.WithTimeout(w.Context(), time.Minute)
		defer stop()
		store := &meeting{UnitOfWork: w.store, allStarted: make(chan struct{}), ended: func() {
			w.runs.mu.Lock()
			defer w.runs.mu.Unlock()
			if len(w.runs.started) == many {
				stop()
			}
		}}
		w.process(store).WithBacklogUnits(3).Run(ctx, func(err error) { w.Error(err) })
		if n := len(w.runs.started); n != many {
			w.Errorf("%d runs were started", n)
		}
	})
}

// Units that begin together share the tenants among them: none fills up with what is most overdue
// while a tenant has had no turn.
func TestUnitsOfOneMomentGoOnBehindEachOther(t *testing.T) {
	w := onPostgres(t)
	const limit = 4
	small := make([]*env, 2*limit)
	for i := range small {
		small[i] = w.withTenant()
		small[i].schedule(1, `{"cron":"2 * * * *"}`)
	}
	w.withTenant().schedule(5*limit, `{"cron":"1 * * * *"}`) // is due before them, and comes last
	w.fire(noon)
	errDone := errors.New("the round is over")
	for range 10 {
		store := openPostgres(t, w.address) // where nobody had a turn yet
		var units sync.WaitGroup
		var mu sync.Mutex
		turns := make(map[tenant.ID]int)
		var begun, claimed sync.WaitGroup // of both
		begun.Add(2)
		claimed.Add(2)
		for range 2 {
			units.Go(func() {
				err := timed{store, w.clock}.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
					_, _, err := st.Schedules.Next(ctx) // it has its connection then
					begun.Done()
					begun.Wait()
					due, errDue := st.Schedules.Due(ctx, noon.Add(5*time.Minute), limit)
					mu.Lock()
					for _, one := range due {
						turns[one.Trigger.Tenant()]++
					}
					mu.Unlock()
					claimed.Done()
					claimed.Wait() // what one has is not free for the other one
					return cmp.Or(err, errDue, errDone)
				})
				if !errors.Is(err, errDone) {
					t.Error(err)
				}
			})
		}
		units.Wait()
		for i, one := range small {
			if n := turns[one.tenant.ID()]; n != 1 {
				t.Fatalf("tenant %d of %d had %d turns: %v", i, len(small), n, turns)
			}
		}
	}
}
