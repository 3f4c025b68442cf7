package schedules

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// theirs is by how much the store's clock is ahead of that of the process.
const theirs = time.Hour

// looks runs the loop for a while and returns when it looked.
func looks(t *testing.T, lasts time.Duration, step func(look int, now time.Time) (int, time.Time, error)) (at []time.Duration, failures int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), lasts)
		defer stop()
		repeat(ctx, func(error) { failures++ }, func(context.Context) (look inbound.ScheduleResult, err error) {
			at = append(at, time.Since(begin))
			look.Now = time.Now().Add(theirs)
			look.Schedules, look.Next, err = step(len(at), look.Now)
			return look, err
		})
	})
	return at, failures
}

func TestTheLoopLooksWhenSomethingIsDue(t *testing.T) {
	const ms = time.Millisecond
	for claim, c := range map[string]struct {
		lasts time.Duration
		step  func(look int, now time.Time) (int, time.Time, error)
		want  []time.Duration
		fails int
	}{
		"nothing is ever due: once a second": {
			3100 * ms, func(int, time.Time) (int, time.Time, error) { return 0, time.Time{}, nil }, []time.Duration{0, 1000 * ms, 2000 * ms, 3000 * ms}, 0,
		},
		"something is due later: once a second, for it may change": {
			2100 * ms, func(_ int, now time.Time) (int, time.Time, error) { return 1, now.Add(time.Hour), nil }, []time.Duration{0, 1000 * ms, 2000 * ms}, 0,
		},
		"something is due soon: then": {
			1000 * ms, func(_ int, now time.Time) (int, time.Time, error) { return 1, now.Add(400 * ms), nil }, []time.Duration{0, 400 * ms, 800 * ms}, 0,
		},
		"there is more to do: at once": {
			500 * ms, func(look int, now time.Time) (int, time.Time, error) {
				if look < 4 {
					return 1, now, nil
				}
				return 0, time.Time{}, nil
			}, []time.Duration{0, 0, 0, 0}, 0,
		},
		"others are at it: soon": {
			250 * ms, func(_ int, now time.Time) (int, time.Time, error) { return 0, now, nil }, []time.Duration{0, 100 * ms, 200 * ms}, 0,
		},
		"a failure is told, and tried again": {
			1500 * ms, func(_ int, now time.Time) (int, time.Time, error) { return 0, now, errors.New("on purpose") }, []time.Duration{0, 1000 * ms}, 2,
		},
		"a failure of some does not make the others wait": {
			500 * ms, func(look int, now time.Time) (int, time.Time, error) {
				if look < 3 {
					return 1, now, errors.New("on purpose")
				}
				return 0, time.Time{}, nil
			}, []time.Duration{0, 0, 0}, 2,
		},
	} {
		t.Run(claim, func(t *testing.T) {
			at, fails := looks(t, c.lasts, c.step)
			if diff := cmp.Diff(c.want, at); diff != "" || fails != c.fails {
				t.Errorf("%d failures were told: %s", fails, diff)
			}
		})
	}
}

func TestTheLoopEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	repeat(ctx, func(err error) { t.Error(err) }, func(ctx context.Context) (inbound.ScheduleResult, error) {
		n++
		stop()
		return inbound.ScheduleResult{}, ctx.Err() // what ended the loop is no failure
	})
	if n != 1 {
		t.Errorf("it looked %d times", n)
	}
}

func TestWhatUnitsHaveDoneTogether(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(n int, next, now time.Duration) inbound.ScheduleResult {
		return inbound.ScheduleResult{Schedules: n, Next: noon.Add(next), Now: noon.Add(now)}
	}
	for claim, c := range map[string]struct {
		results []inbound.ScheduleResult
		want    inbound.ScheduleResult
	}{
		"one":                       {[]inbound.ScheduleResult{at(3, 0, 1)}, at(3, 0, 1)},
		"the last one to look wins": {[]inbound.ScheduleResult{at(3, 0, 1), at(4, 60, 3), at(0, 0, 2)}, at(7, 60, 3)},
		"one that failed has no say": {
			[]inbound.ScheduleResult{{}, at(4, 60, 3), {}}, at(4, 60, 3),
		},
		"nothing is ever due again": {[]inbound.ScheduleResult{at(1, 0, 1), {Schedules: 2, Now: noon.Add(2)}}, inbound.ScheduleResult{Schedules: 3, Now: noon.Add(2)}},
		"all failed":                {make([]inbound.ScheduleResult, 3), inbound.ScheduleResult{}},
	} {
		if diff := cmp.Diff(c.want, together(c.results)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

// brokenWork is a store that does not answer.
type brokenWork struct{ outbound.UnitOfWork }

var errBroken = errors.New("on purpose")

func (brokenWork) Read(context.Context, func(context.Context, outbound.Stores) error) error {
	return errBroken
}

func TestEachUnitThatFailsIsTold(t *testing.T) {
	told := 0
	s := &Scheduler{work: brokenWork{}, timeout: time.Second}
	_, err := s.fireUnits(t.Context(), 3, func(err error) {
		if told++; !errors.Is(err, errBroken) {
			t.Error(err)
		}
	})
	if !errors.Is(err, errBroken) || told != 2 {
		t.Errorf("it returns %v, and %d others were told", err, told)
	}
}
