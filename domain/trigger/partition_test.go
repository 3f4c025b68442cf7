package trigger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

// drawSchedule draws a schedule and an instant near a change of the clocks, if the
// zone has one.
func drawSchedule(t *rapid.T) (trigger.Schedule, time.Time) {
	name := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/Nuuk", "Africa/Cairo", "Australia/Lord_Howe", "America/New_York"}).Draw(t, "zone")
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "start"), 0)
	if _, change := start.In(loc).ZoneBounds(); !change.IsZero() {
		start = change.Add(-time.Duration(rapid.IntRange(0, 40*60).Draw(t, "minutes before")) * time.Minute)
	}
	if rapid.Bool().Draw(t, "interval") {
		anchor := start.Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "anchor")) * time.Second)
		return trigger.NewIntervalSchedule(time.Duration(rapid.IntRange(60, 7200).Draw(t, "seconds"))*time.Second, anchor), start
	}
	expr := rapid.SampledFrom([]string{
		"*/7 * * * *", "0 * * * *", "30 */2 * * *", "30 2 * * *", "0,30 0,2,3,23 * * *", "*/20 0-4 * * *", "15 1 * * *", "59 23 * * 0,6",
	}).Draw(t, "expression")
	c, err := trigger.ParseCron(expr)
	if err != nil {
		t.Fatal(err)
	}
	return trigger.NewCronSchedule(c, loc), start
}

// between lists the instants after one and not after the other.
func between(s trigger.Schedule, after, until time.Time) []time.Time {
	var all []time.Time
	for {
		next, ok := s.Next(after)
		if !ok || next.At.After(until) {
			return all
		}
		all, after = append(all, next.At), next.At
	}
}

// Whoever looks, at whatever instants, and goes on either from the last instant that
// was planned or from the time of the last look: each instant is planned once.
func TestHoweverTimeIsCutEachInstantIsPlannedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, start := drawSchedule(t)
		catchUp := rapid.SampledFrom([]trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll}).Draw(t, "catchUp")
		fromNow := rapid.Bool().Draw(t, "goes on from the last look")
		last, now := start, start
		var planned []time.Time
		for _, pause := range rapid.SliceOfN(rapid.Int64Range(0, 10*3600*1000), 1, 12).Draw(t, "pauses") {
			now = now.Add(time.Duration(pause) * time.Millisecond)
			if now.Sub(last) > trigger.MaxLookBack {
				break
			}
			plan := planAll(s, last, now, catchUp)
			for i, p := range plan {
				planned = append(planned, p.At)
				if want := wantOutcome(now, plan, i, catchUp); p.Outcome != want {
					t.Fatalf("%s is %q at %s, not %q", p.At, p.Outcome, now, want)
				}
			}
			if fromNow {
				last = now
			} else if len(plan) > 0 {
				last = plan[len(plan)-1].At
			}
		}
		until := now
		if now.Sub(last) > trigger.MaxLookBack {
			until = last
		}
		if diff := cmp.Diff(between(s, start, until), planned); diff != "" {
			t.Fatal(diff)
		}
	})
}

// wantOutcome says what becomes of an instant, from how late all of them are looked at:
// it repeats the rule in other words.
func wantOutcome(now time.Time, plan []trigger.PlannedFire, i int, catchUp trigger.CatchUp) trigger.FireOutcome {
	late, newest := now.Sub(plan[i].At), i == len(plan)-1
	afterOthers := now.Sub(plan[0].At) >= time.Minute // the oldest is the one that was surely missed
	switch {
	case late < 5*time.Second:
		return trigger.Fired
	case late < time.Minute && !afterOthers:
		return trigger.Late
	case late > 24*time.Hour || catchUp == trigger.CatchUpNone || catchUp == trigger.CatchUpLast && !newest:
		return trigger.Skipped
	default:
		return trigger.CaughtUp
	}
}

// After an absence of days the first entry stands for everything that is too old, and
// each instant of the last 24 hours, bound included, follows the catch-up.
func TestAfterDaysOnlyTheLast24HoursAreCaughtUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, last := drawSchedule(t)
		now := last.Add(24*time.Hour + time.Duration(rapid.Int64Range(0, 5*86_400_000).Draw(t, "absence"))*time.Millisecond)
		if rapid.Bool().Draw(t, "to the minute") {
			now = now.Truncate(time.Minute)
		}
		plan := planAll(s, last, now, trigger.CatchUpAll)
		var want, got []time.Time
		for _, at := range between(s, last, now) {
			if !at.Before(now.Add(-24 * time.Hour)) {
				want = append(want, at)
			}
		}
		if old := between(s, last, now.Add(-24*time.Hour-1)); len(old) > 0 {
			if len(plan) == 0 || !plan[0].At.Equal(old[0]) || plan[0].Outcome != trigger.Skipped || plan[0].Reason == "" {
				t.Fatalf("nothing stands for %d old instants from %s on: %v", len(old), old[0], plan)
			}
			plan = plan[1:]
		}
		for _, p := range plan {
			got = append(got, p.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if slices.ContainsFunc(plan, func(p trigger.PlannedFire) bool { return !p.Outcome.Starts() }) {
			t.Fatalf("something is not caught up: %v", plan)
		}
	})
}

func TestTheLookBackIncludesItsBound(t *testing.T) {
	daily := trigger.NewCronSchedule(mustParse(t, "0 12 * * *"), time.UTC)
	for now, want := range map[string][]trigger.FireOutcome{
		"2026-05-02T12:00:00Z":     {trigger.CaughtUp, trigger.Fired},
		"2026-05-02T12:00:00.001Z": {trigger.Skipped, trigger.Fired},
	} {
		var got []trigger.FireOutcome
		for _, p := range planAll(daily, at("2026-04-30T13:00:00Z"), at(now), trigger.CatchUpAll) {
			got = append(got, p.Outcome)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %s: %s", now, diff)
		}
	}
}
