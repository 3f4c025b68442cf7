package schedules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
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

func (silent) Next(context.Context) (at, now time.Time, err error) { return noon, noon, nil }

func TestADatabaseThatDoesNotAnswerIsNotWaitedForWithoutAnEnd(t *testing.T) {
	for claim, reads := range map[string]bool{"when schedules are looked for": false, "when they are dealt with": true} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := schedules.NewScheduler(silent{reads: reads}, nil, nil, nil, counted, execution.NewAllowance(nil, nil)).FireDue(t.Context(), 9)
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// stumbling is a database whose driver panics at first.
type stumbling struct {
	silent
	looks *int
}

func (s stumbling) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if *s.looks++; *s.looks <= 2 {
		panic("on purpose")
	}
	return fn(ctx, outbound.Stores{Schedules: s})
}

func (stumbling) Next(context.Context) (at, now time.Time, err error) {
	return noon.Add(time.Hour), noon, nil
}

func TestTheLoopOutlivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer stop()
		looks, told := 0, 0
		s := schedules.NewScheduler(stumbling{looks: &looks}, nil, nil, nil, counted, execution.NewAllowance(nil, nil))
		s.Run(ctx, func(err error) {
			var thrown *inbound.Panic
			if told++; !errors.As(err, &thrown) || !strings.Contains(string(thrown.Stack), "stumbling.Read") {
				t.Error(err)
			}
		})
		if looks != 4 || told != 2 || s.Panics() != 2 {
			t.Errorf("it looked %d times, told %d times and counted %d", looks, told, s.Panics())
		}
	})
}
