package trigger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

// An outage is a time in which nobody looks; before it somebody looks in time, and after
// it bit by bit, while time goes on, as a busy gateway does. Whatever the schedule, and
// wherever the outage begins and ends: the instants of it are all planned once, and start
// as many runs as the catch-up says.
func TestAnOutageStartsAsManyRunsAsItsCatchUpSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, start := drawSchedule(t)
		start = start.UTC()
		catchUp := rapid.SampledFrom([]trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll}).Draw(t, "catchUp")
		began := start.Add(time.Duration(rapid.Int64Range(0, 3600_000).Draw(t, "began")) * time.Millisecond)
		lasted := time.Duration(rapid.Int64Range(int64(trigger.MissedAfter/time.Millisecond), 20*3600_000).Draw(t, "lasted")) * time.Millisecond
		ended := began.Add(lasted)
		most := rapid.IntRange(1, 40).Draw(t, "most")
		busy := time.Duration(rapid.Int64Range(0, 900).Draw(t, "busy")) * time.Millisecond

		now, last := ended, began
		var plan []trigger.PlannedFire
		for looks, rest := 0, now; !rest.IsZero(); looks++ {
			var part []trigger.PlannedFire
			if part, rest = s.Due(last, now, catchUp, most); len(part) > most+1 || !rest.IsZero() && len(part) == 0 {
				t.Fatalf("%d were planned, not %d", len(part), most)
			}
			plan = append(plan, part...)
			if !rest.IsZero() {
				last, now = part[len(part)-1].At, now.Add(busy)
			}
		}
		at := between(s, began, now)
		if len(plan) != len(at) {
			t.Fatalf("%d instants were planned, not %d", len(plan), len(at))
		}
		runs := 0
		for i, p := range plan {
			if !p.At.Equal(at[i]) {
				t.Fatalf("%s was planned, not %s", p.At, at[i])
			}
			if p.Outcome.Starts() {
				runs++
			}
			if (p.Outcome != trigger.Fired) && p.Reason == "" {
				t.Fatalf("%+v says not why", p)
			}
		}
		inOutage := len(between(s, began, ended.Add(-trigger.MissedAfter))) // surely missed
		switch newest := len(at) - 1; {
		case len(at) == 0:
		case catchUp == trigger.CatchUpAll && runs != len(at):
			t.Fatalf("%d runs of %d instants", runs, len(at))
		case catchUp == trigger.CatchUpLast && (runs != 1 || !plan[newest].Outcome.Starts()):
			t.Fatalf("%d runs, the newest instant is %s", runs, plan[newest].Outcome)
		case catchUp == trigger.CatchUpNone && inOutage > 0 && runs > 0 && (runs > 1 || now.Sub(at[newest]) >= trigger.LateAfter || !plan[newest].Outcome.Starts()):
			t.Fatalf("%d runs, the newest instant is %s late", runs, now.Sub(at[newest]))
		case catchUp == trigger.CatchUpNone && (runs > 1 || runs == 1 && now.Sub(at[newest]) >= trigger.MissedAfter):
			t.Fatalf("%d runs, the newest instant is %s late", runs, now.Sub(at[newest]))
		}
	})
}

// A plan holds what it was asked for, whatever there is: a day of a schedule that is due
// each minute, or an interval far below what is accepted today.
func TestAPlanIsBounded(t *testing.T) {
	now := at("2026-05-02T12:00:30Z")
	for claim, every := range map[string]time.Duration{"a minute": time.Minute, "a second": time.Second, "a millisecond": time.Millisecond} {
		t.Run(claim, func(t *testing.T) {
			s := trigger.NewIntervalSchedule(every, at("2026-04-01T00:00:00Z"))
			for _, catchUp := range []trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll} {
				var plan []trigger.PlannedFire
				allocated := testing.AllocsPerRun(1, func() { plan, _ = s.Due(at("2026-05-01T13:00:00Z"), now, catchUp, 100) })
				if len(plan) != 100 || cap(plan) > 256 || allocated > 20 {
					t.Errorf("%s: %d planned, room for %d, %.0f allocations", catchUp, len(plan), cap(plan), allocated)
				}
			}
		})
	}
}

// Where a plan is cut must not hide that there was an outage.
func TestAPlanIsNotCutBeforeTheEndOfAnOutage(t *testing.T) {
	minutely := trigger.NewCronSchedule(mustParse(t, "* * * * *"), time.UTC)
	last, now := at("2026-05-01T12:00:00Z"), at("2026-05-01T12:04:30Z")
	for most, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4} {
		plan, rest := minutely.Due(last, now, trigger.CatchUpNone, most)
		if len(plan) != want || rest.IsZero() != (want == 4) {
			t.Errorf("%d of %d are planned, and goes on at %s", len(plan), most, rest)
		}
		for _, p := range plan {
			if p.Outcome != trigger.Skipped {
				t.Errorf("%+v", p)
			}
		}
	}
}

// What is too old to be listed is part of the outage, and nothing that is caught up.
func TestWhatIsTooOldToBeListedWasMissedAllTheSame(t *testing.T) {
	daily := trigger.NewCronSchedule(mustParse(t, "0 12 * * *"), time.UTC)
	last := at("2026-05-01T11:00:00Z")
	for _, c := range []struct {
		now     string
		catchUp trigger.CatchUp
		want    []trigger.FireOutcome
	}{
		{"2026-05-03T12:00:04.999Z", trigger.CatchUpNone, []trigger.FireOutcome{trigger.Skipped, trigger.Fired}},
		{"2026-05-03T12:00:05Z", trigger.CatchUpNone, []trigger.FireOutcome{trigger.Skipped, trigger.Skipped}},
		{"2026-05-03T12:00:05Z", trigger.CatchUpLast, []trigger.FireOutcome{trigger.Skipped, trigger.CaughtUp}},
		{"2026-05-02T11:59:59Z", trigger.CatchUpLast, []trigger.FireOutcome{trigger.CaughtUp}},
	} {
		var got []trigger.FireOutcome
		for _, p := range planAll(daily, last, at(c.now), c.catchUp) {
			got = append(got, p.Outcome)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s at %s: %s", c.catchUp, c.now, diff)
		}
	}
	weekly := trigger.NewCronSchedule(mustParse(t, "0 12 * * 5"), time.UTC)
	plan := planAll(weekly, last, at("2026-05-03T12:00:00Z"), trigger.CatchUpLast)
	if len(plan) != 1 || plan[0].Outcome != trigger.Skipped {
		t.Errorf("a week's only instant, two days ago: %+v", plan)
	}
}
