package schedules_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// silent is a database that answers some units, and never the others.
type silent struct {
	outbound.UnitOfWork
	outbound.ScheduleRepository
	reads bool
}

func (s silent) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if s.reads {
		return fn(ctx, outbound.Stores{Schedules: s})
	}
	return s.Do(ctx, fn)
}

func (s silent) Do(ctx context.Context, _ func(context.Context, outbound.Stores) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silent) Next(context.Context) (time.Time, bool, error) { return noon, true, nil }

func TestADatabaseThatDoesNotAnswerIsNotWaitedForWithoutAnEnd(t *testing.T) {
	for claim, reads := range map[string]bool{"when schedules are looked for": false, "when they are dealt with": true} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &portstest.ManualClock{}
				clock.Set(noon)
				began := time.Now()
				_, _, err := schedules.NewScheduler(silent{reads: reads}, nil, nil, clock, counted{}).FireDue(t.Context(), 9)
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}
