package trigger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

func TestDueInstantsAreFiredOrCaughtUp(t *testing.T) {
	const (
		noCatchUp  = "missed while nothing could fire, and catching up is switched off"
		onlyLatest = "missed while nothing could fire; only the latest one is caught up"
		latest     = "the latest one that was missed"
		each       = "missed while nothing could fire"
	)
	type planned = trigger.Planned
	hourly := func(t *testing.T) trigger.Schedule {
		return trigger.NewCronSchedule(mustParse(t, "0 * * * *"), time.UTC)
	}
	for claim, c := range map[string]struct {
		last, now string
		catchUp   trigger.CatchUp
		want      []planned
	}{
		"nothing is due yet":                {"2026-05-01T10:00:00Z", "2026-05-01T10:59:59.999Z", trigger.CatchUpAll, nil},
		"what was dealt with is not again":  {"2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z", trigger.CatchUpAll, nil},
		"on time":                           {"2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z", trigger.CatchUpNone, []planned{{At: at("2026-05-01T11:00:00Z"), Outcome: trigger.Fired}}},
		"just not late":                     {"2026-05-01T10:00:00Z", "2026-05-01T11:00:04.999Z", trigger.CatchUpNone, []planned{{At: at("2026-05-01T11:00:00Z"), Outcome: trigger.Fired}}},
		"late":                              {"2026-05-01T10:00:00Z", "2026-05-01T11:00:05Z", trigger.CatchUpNone, []planned{{at("2026-05-01T11:00:00Z"), trigger.Late, "fired 5s after it was due"}}},
		"just not missed":                   {"2026-05-01T10:00:00Z", "2026-05-01T11:00:59.999Z", trigger.CatchUpNone, []planned{{at("2026-05-01T11:00:00Z"), trigger.Late, "fired 59.999s after it was due"}}},
		"missed, and not caught up":         {"2026-05-01T10:00:00Z", "2026-05-01T11:01:00Z", trigger.CatchUpNone, []planned{{at("2026-05-01T11:00:00Z"), trigger.Skipped, noCatchUp}}},
		"missed, and the only one":          {"2026-05-01T10:00:00Z", "2026-05-01T11:01:00Z", trigger.CatchUpLast, []planned{{at("2026-05-01T11:00:00Z"), trigger.CaughtUp, latest}}},
		"missed, and caught up with others": {"2026-05-01T10:00:00Z", "2026-05-01T11:01:00Z", trigger.CatchUpAll, []planned{{at("2026-05-01T11:00:00Z"), trigger.CaughtUp, each}}},
		"the latest of several": {"2026-05-01T10:00:00Z", "2026-05-01T13:30:00Z", trigger.CatchUpLast, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, onlyLatest}, {at("2026-05-01T12:00:00Z"), trigger.Skipped, onlyLatest}, {at("2026-05-01T13:00:00Z"), trigger.CaughtUp, latest},
		}},
		"all of several, and one on time": {"2026-05-01T10:00:00Z", "2026-05-01T13:00:00Z", trigger.CatchUpAll, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.CaughtUp, each}, {at("2026-05-01T12:00:00Z"), trigger.CaughtUp, each}, {At: at("2026-05-01T13:00:00Z"), Outcome: trigger.Fired},
		}},
		"the latest that was missed, beside one on time": {"2026-05-01T10:00:00Z", "2026-05-01T13:00:00Z", trigger.CatchUpLast, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, onlyLatest}, {at("2026-05-01T12:00:00Z"), trigger.CaughtUp, latest}, {At: at("2026-05-01T13:00:00Z"), Outcome: trigger.Fired},
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hourly(t).Due(at(c.last), at(c.now), c.catchUp)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneEntryStandsForWhatIsTooOldToCatchUp(t *testing.T) {
	sixHourly := trigger.NewCronSchedule(mustParse(t, "0 0,6,12,18 * * *"), time.UTC)
	tooOld := trigger.Planned{At: at("2026-04-01T06:00:00Z"), Outcome: trigger.Skipped,
		Reason: "missed more than 24 hours ago, with every later one until 2026-05-01T12:00:00Z"}
	var got []string
	plan := sixHourly.Due(at("2026-04-01T00:00:00Z"), at("2026-05-02T12:00:00Z"), trigger.CatchUpAll)
	if diff := cmp.Diff(tooOld, plan[0]); diff != "" {
		t.Error(diff)
	}
	for _, p := range plan[1:] {
		got = append(got, p.At.Format("02 15 ")+string(p.Outcome))
	}
	want := []string{"01 12 caught_up", "01 18 caught_up", "02 00 caught_up", "02 06 caught_up", "02 12 fired"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFireAtAChangeOfTheClocksSaysSo(t *testing.T) {
	s := trigger.NewCronSchedule(mustParse(t, "30 2 * * *"), zone(t, "America/New_York"))
	want := []trigger.Planned{{At: at("2026-03-08T07:00:00Z"), Outcome: trigger.Fired, Reason: trigger.Gap.Reason()}}
	if diff := cmp.Diff(want, s.Due(at("2026-03-08T00:00:00Z"), at("2026-03-08T07:00:01Z"), trigger.CatchUpLast)); diff != "" {
		t.Error(diff)
	}
}

// However long nobody looked and however often somebody does: no instant of the last
// 24 hours is left out or planned twice, and at most one missed one starts a run
// when only the last is caught up.
func TestNoInstantIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.IntRange(60, 7200).Draw(t, "seconds")) * time.Second
		anchor := at("2026-05-01T00:00:00Z")
		s := trigger.NewIntervalSchedule(interval, anchor)
		catchUp := rapid.SampledFrom([]trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast, trigger.CatchUpAll}).Draw(t, "catchUp")
		last, now := anchor, anchor
		for range rapid.IntRange(1, 6).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 24*3600).Draw(t, "pause")) * time.Second)
			plan := s.Due(last, now, catchUp)
			caughtUp := 0
			for _, p := range plan {
				if !p.At.Equal(last.Add(interval)) || p.At.After(now) {
					t.Fatalf("every %s: %s follows %s at %s", interval, p.At, last, now)
				}
				last = p.At
				missed := now.Sub(p.At) >= trigger.MissedAfter
				if missed != (p.Outcome == trigger.Skipped || p.Outcome == trigger.CaughtUp) || (p.Outcome != trigger.Fired) != (p.Reason != "") {
					t.Fatalf("%+v at %s", p, now)
				}
				if p.Outcome == trigger.CaughtUp {
					caughtUp++
				}
			}
			if now.Sub(last) >= interval {
				t.Fatalf("every %s: nothing is planned between %s and %s", interval, last, now)
			}
			if catchUp == trigger.CatchUpNone && caughtUp > 0 || catchUp == trigger.CatchUpLast && caughtUp > 1 {
				t.Fatalf("%d are caught up with %q", caughtUp, catchUp)
			}
		}
	})
}
