package runs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestAFollowerIsToldEvery15SecondsThatNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		f := &follower{woken: make(chan struct{}, 1)}
		quiet := time.NewTimer(quietInterval)
		defer quiet.Stop()
		time.AfterFunc(50*time.Second, f.wake)
		var at []time.Duration
		send := func(entries []run.Entry) error {
			if len(entries) > 0 {
				t.Errorf("told of %v", entries)
			}
			at = append(at, time.Since(begun))
			return nil
		}
		if err := wait(t.Context(), f, quiet, send); err != nil || time.Since(begun) != 50*time.Second {
			t.Errorf("woken after %s: %v", time.Since(begun), err)
		}
		if diff := cmp.Diff([]time.Duration{15 * time.Second, 30 * time.Second, 45 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
		gone := errors.New("gone")
		if err := wait(t.Context(), f, quiet, func([]run.Entry) error { return gone }); !errors.Is(err, gone) || time.Since(begun) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := wait(ctx, f, quiet, send); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
