package trigger_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/trigger"
)

// planAll plans everything at once.
func planAll(s trigger.Schedule, last, now time.Time, catchUp trigger.CatchUp) []trigger.PlannedFire {
	plan, rest := s.Due(last, now, catchUp, math.MaxInt)
	if !rest.IsZero() {
		panic("something is left")
	}
	return plan
}

func TestDueInstantsAreFiredOrCaughtUp(t *testing.T) {
	const (
		noCatchUp  = "missed while nothing could fire, and catching up is switched off"
		onlyLatest = "missed while nothing could fire; only the latest one may start a run"
		latest     = "the latest one that was missed"
		each       = "missed while nothing could fire"
	)
	type planned = trigger.PlannedFire
	hourly := func(t *testing.T) trigger.Schedule {
		return trigger.NewCronSchedule(mustParse(t, "0 * * * *"), time.UTC)
	}
	everyHour := func(reason string) (all []planned) { // for the day up to noon, and one before it
		all = append(all, planned{at("2026-04-30T12:00:00Z"), trigger.Skipped, "missed more than 24 hours ago, with every later one until 2026-04-30T12:00:59Z"})
		for h := 13; h <= 36; h++ {
			all = append(all, planned{at("2026-04-30T00:00:00Z").Add(time.Duration(h) * time.Hour), trigger.Skipped, reason})
		}
		return all
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
		"none that was missed, where the latest is on time": {"2026-05-01T10:00:00Z", "2026-05-01T13:00:04.999Z", trigger.CatchUpLast, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, onlyLatest}, {at("2026-05-01T12:00:00Z"), trigger.Skipped, onlyLatest}, {At: at("2026-05-01T13:00:00Z"), Outcome: trigger.Fired},
		}},
		"the latest, which became due just before the outage ended": {"2026-05-01T10:00:00Z", "2026-05-01T12:00:05Z", trigger.CatchUpLast, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, onlyLatest}, {at("2026-05-01T12:00:00Z"), trigger.CaughtUp, latest},
		}},
		"nothing of an outage, however near its end": {"2026-05-01T10:00:00Z", "2026-05-01T12:00:05Z", trigger.CatchUpNone, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, noCatchUp}, {at("2026-05-01T12:00:00Z"), trigger.Skipped, noCatchUp},
		}},
		"nothing of an outage, and what became due after it": {"2026-05-01T10:00:00Z", "2026-05-01T12:00:04.999Z", trigger.CatchUpNone, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.Skipped, noCatchUp}, {At: at("2026-05-01T12:00:00Z"), Outcome: trigger.Fired},
		}},
		"all of an outage, however near its end": {"2026-05-01T10:00:00Z", "2026-05-01T12:00:05Z", trigger.CatchUpAll, []planned{
			{at("2026-05-01T11:00:00Z"), trigger.CaughtUp, each}, {at("2026-05-01T12:00:00Z"), trigger.CaughtUp, each},
		}},
		"nothing of an outage of days, however near its end": {"2026-04-30T11:00:00Z", "2026-05-01T12:00:59Z", trigger.CatchUpNone, everyHour(noCatchUp)},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, planAll(hourly(t), at(c.last), at(c.now), c.catchUp)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneEntryStandsForWhatIsTooOldToCatchUp(t *testing.T) {
	sixHourly := trigger.NewCronSchedule(mustParse(t, "0 0,6,12,18 * * *"), time.UTC)
	tooOld := trigger.PlannedFire{At: at("2026-04-01T06:00:00Z"), Outcome: trigger.Skipped,
		Reason: "missed more than 24 hours ago, with every later one until 2026-05-01T12:00:00Z"}
	var got []string
	plan := planAll(sixHourly, at("2026-04-01T00:00:00Z"), at("2026-05-02T12:00:00Z"), trigger.CatchUpAll)
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
	want := []trigger.PlannedFire{{At: at("2026-03-08T07:00:00Z"), Outcome: trigger.Fired, Reason: trigger.Gap.Reason()}}
	if diff := cmp.Diff(want, planAll(s, at("2026-03-08T00:00:00Z"), at("2026-03-08T07:00:01Z"), trigger.CatchUpLast)); diff != "" {
		t.Error(diff)
	}
}
