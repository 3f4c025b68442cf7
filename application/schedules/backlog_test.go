package schedules_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// together lets the units after the first one go on once three of them are under way.
type together struct {
	outbound.UnitOfWork
	mu      sync.Mutex
	entered int
	three   chan struct{}
	done    func() // after each unit
}

func (s *together) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	s.mu.Lock()
	s.entered++
	n := s.entered
	if n == 4 {
		close(s.three)
	}
	s.mu.Unlock()
	if n > 1 {
		select {
		case <-s.three:
		case <-ctx.Done(): // the unit ends for that, and the schedules stay due
		}
	}
	defer s.done()
	return s.UnitOfWork.Do(ctx, fn)
}

func TestSeveralUnitsDealWithMoreThanOneOfThemCan(t *testing.T) {
	w := newEnv(t, openSQLite(t))
	const many = 1200 // as many as two units and a bit
	w.schedule(many, `{"cron":"* * * * *"}`)
	w.fire(noon)
	w.clock.Set(noon.Add(time.Minute))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	store := &together{UnitOfWork: w.store, three: make(chan struct{}), done: func() {
		w.runs.mu.Lock()
		defer w.runs.mu.Unlock()
		if len(w.runs.started) == many {
			stop()
		}
	}}
	w.process(store).Run(ctx, func(err error) { t.Error(err) })
	if len(w.runs.started) != many {
		t.Errorf("%d runs were started", len(w.runs.started))
	}
	if store.entered < 4 {
		t.Errorf("%d units were begun", store.entered)
	}
}
