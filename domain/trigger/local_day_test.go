package trigger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/trigger"
)

// dayZones are the zones in which a fixed hour is followed day by day.
func dayZones(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		return strings.Fields("Europe/Berlin America/Nuuk Africa/Cairo Africa/Casablanca Australia/Lord_Howe Asia/Gaza Europe/Dublin Pacific/Norfolk")
	}
	return zoneNames(t)
}

// shows is what a clock shows in a zone, as if it were UTC.
func shows(at time.Time, loc *time.Location) time.Time {
	local := at.In(loc)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
}

// checkOnceADay follows an expression that names one time from day to day: each day
// that exists has one fire, at that time or, where a change of the clocks leaves it
// out, at the change, which may lie in the day after. It returns the days that do not
// exist.
func checkOnceADay(t *testing.T, loc *time.Location, hour, minute int, first, end time.Time) (missing []string) {
	t.Helper()
	s := trigger.NewCronSchedule(mustParse(t, fmt.Sprintf("%d %d * * *", minute, hour)), loc)
	after := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, loc).Add(-1)
	for day := first; day.Before(end); day = day.AddDate(0, 0, 1) {
		if noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, loc); noon.Day() != day.Day() {
			missing = append(missing, day.Format(time.DateOnly))
			continue
		}
		named := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		next, ok := s.Next(after)
		if !ok || !next.At.After(after) {
			t.Fatalf("%02d:%02d in %s: %v %v follows %s", hour, minute, loc, next, ok, after)
		}
		switch shown, before := shows(next.At, loc), shows(next.At.Add(-1), loc); {
		case shown.Equal(named) && (next.Shift == trigger.NoShift || next.Shift == trigger.Repeated):
		case before.Before(named) && named.Before(shown) && next.Shift == trigger.Gap:
		default:
			t.Fatalf("%s in %s is due at %s with the shift %q", named.Format(time.DateTime), loc, next.At.In(loc), next.Shift)
		}
		after = next.At
	}
	return missing
}

// Ten years, every zone, times early and late on the day: a fire that a change of the
// clocks moves past midnight still counts for the day it was meant for.
func TestEveryLocalDayHasOneFireOfAFixedTime(t *testing.T) {
	names := dayZones(t)
	for _, c := range []struct{ hour, minute int }{{0, 30}, {2, 30}, {12, 0}, {23, 59}} {
		t.Run(fmt.Sprintf("%02d:%02d", c.hour, c.minute), func(t *testing.T) {
			t.Parallel()
			for _, name := range names {
				missing := checkOnceADay(t, zone(t, name), c.hour, c.minute,
					time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
				if missing != nil {
					t.Errorf("%s leaves out %v", name, missing)
				}
			}
		})
	}
}

// Zones that crossed the date line left a day out, or had one that was mostly lost.
func TestOnlyDaysThatAZoneLeavesOutHaveNoFire(t *testing.T) {
	for name, c := range map[string]struct {
		year int
		want []string
	}{
		"Pacific/Apia":      {2011, []string{"2011-12-30"}},
		"Pacific/Fakaofo":   {2011, []string{"2011-12-30"}},
		"Pacific/Kwajalein": {1993, []string{"1993-08-21"}},
		"Pacific/Kanton":    {1994, []string{"1994-12-31"}},
		"Asia/Pyongyang":    {2018, nil}, // half an hour, at midnight
		"America/Caracas":   {2016, nil},
	} {
		for _, at := range []struct{ hour, minute int }{{0, 0}, {2, 45}, {12, 0}, {23, 59}} {
			first := time.Date(c.year, 2, 1, 0, 0, 0, 0, time.UTC)
			missing := checkOnceADay(t, zone(t, name), at.hour, at.minute, first, first.AddDate(1, 0, 0))
			if diff := cmp.Diff(c.want, missing); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Each case lists the local times, with their offsets, and the shifts.
func TestChangesOfTheClocksAroundTheWorld(t *testing.T) {
	const (
		berlin, spring, autumn = "Europe/Berlin", "2026-03-29T00:10:00+01:00", "2026-10-25T00:10:00+02:00"
		nuuk, cairo, dublin    = "America/Nuuk", "Africa/Cairo", "Europe/Dublin"
		casablanca             = "Africa/Casablanca"
	)
	for claim, c := range map[string]struct{ expr, zone, after, want string }{
		"spring, one fixed time":                  {"30 2 * * *", berlin, spring, "29 03:00 +0200 gap, 30 02:30 +0200"},
		"autumn, one fixed time":                  {"30 2 * * *", berlin, autumn, "25 02:30 +0200 repeated, 26 02:30 +0100"},
		"spring, two times that do not exist":     {"0,30 2 * * *", berlin, spring, "29 03:00 +0200 gap, 30 02:00 +0200, 30 02:30 +0200"},
		"autumn, two times that repeat":           {"0,30 2 * * *", berlin, autumn, "25 02:00 +0200 repeated, 25 02:30 +0200 repeated, 26 02:00 +0100"},
		"spring, a lost time and the next":        {"0 2,3 * * *", berlin, spring, "29 03:00 +0200 gap, 30 02:00 +0200, 30 03:00 +0200"},
		"autumn, a repeated time and the next":    {"0 2,3 * * *", berlin, autumn, "25 02:00 +0200 repeated, 25 03:00 +0100, 26 02:00 +0100"},
		"spring, each hour":                       {"0 * * * *", berlin, spring, "29 01:00 +0100, 29 03:00 +0200, 29 04:00 +0200"},
		"autumn, each hour":                       {"0 * * * *", berlin, autumn, "25 01:00 +0200, 25 02:00 +0200, 25 02:00 +0100 again, 25 03:00 +0100"},
		"spring, each quarter":                    {"*/15 * * * *", berlin, "2026-03-29T01:40:00+01:00", "29 01:45 +0100, 29 03:00 +0200, 29 03:15 +0200"},
		"autumn, each quarter":                    {"*/15 * * * *", berlin, "2026-10-25T02:40:00+02:00", "25 02:45 +0200, 25 02:00 +0100 again, 25 02:15 +0100 again, 25 02:30 +0100 again, 25 02:45 +0100 again, 25 03:00 +0100"},
		"spring, every two hours":                 {"30 */2 * * *", berlin, spring, "29 00:30 +0100, 29 03:30 +0200 displaced, 29 04:30 +0200"},
		"autumn, every two hours":                 {"30 */2 * * *", berlin, autumn, "25 00:30 +0200, 25 02:30 +0200 repeated, 25 04:30 +0100"},
		"spring, a step next to another hour":     {"30 */2,5 * * *", berlin, spring, "29 00:30 +0100, 29 03:00 +0200 gap, 29 04:30 +0200"},
		"the hour before midnight is lost":        {"30 23 * * *", nuuk, "2026-03-28T12:00:00-02:00", "29 00:00 -0100 gap, 29 23:30 -0100"},
		"the midnight after it is not":            {"0 0 * * *", nuuk, "2026-03-28T12:00:00-02:00", "29 00:00 -0100, 30 00:00 -0100"},
		"both are one fire":                       {"0 0,23 * * *", nuuk, "2026-03-28T12:00:00-02:00", "29 00:00 -0100 gap, 29 23:00 -0100, 30 00:00 -0100"},
		"the hour before midnight comes twice":    {"30 23 * * *", nuuk, "2026-10-24T12:00:00-01:00", "24 23:30 -0100 repeated, 25 23:30 -0200"},
		"and midnight once":                       {"0 0 * * *", nuuk, "2026-10-24T12:00:00-01:00", "25 00:00 -0200, 26 00:00 -0200"},
		"the hour after midnight is lost":         {"30 0 * * *", cairo, "2026-04-23T12:00:00+02:00", "24 01:00 +0300 gap, 25 00:30 +0300"},
		"the day ends an hour later":              {"30 23 * * *", cairo, "2026-10-29T12:00:00+03:00", "29 23:30 +0300 repeated, 30 23:30 +0200"},
		"Ramadan begins":                          {"30 2 * * *", casablanca, "2026-02-14T12:00:00+01:00", "15 02:30 +0100 repeated, 16 02:30 +0000"},
		"Ramadan ends":                            {"30 2 * * *", casablanca, "2026-03-21T12:00:00+00:00", "22 03:00 +0100 gap, 23 02:30 +0100"},
		"winter that is saved, not summer":        {"30 1 * * *", dublin, "2026-10-24T12:00:00+01:00", "25 01:30 +0100 repeated, 26 01:30 +0000"},
		"winter that is saved ends":               {"30 1 * * *", dublin, "2026-03-28T12:00:00+00:00", "29 02:00 +0100 gap, 30 01:30 +0100"},
		"only the day of the change is named":     {"30 2 29 3 *", berlin, "2025-03-30T00:00:00+01:00", "29 03:00 +0200 gap, 29 02:30 +0200"},
		"the weekday of a lost time is its own":   {"30 23 * * SAT", nuuk, "2026-03-28T12:00:00-02:00", "29 00:00 -0100 gap, 04 23:30 -0100"},
		"half an hour at midnight":                {"15 0 * * *", "Asia/Pyongyang", "2018-05-03T12:00:00+08:30", "04 00:15 +0830, 05 00:15 +0900"},
		"half an hour before midnight, left out":  {"45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00:00+08:30", "05 00:00 +0900 gap, 05 23:45 +0900"},
		"half an hour that is gone each year":     {"10 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "04 02:30 +1100 gap, 05 02:10 +1100"},
		"half an hour that repeats each year":     {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00", "05 01:45 +1100 repeated, 06 01:45 +1030"},
		"the other half of that hour comes once":  {"15 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00", "05 01:15 +1100, 06 01:15 +1030"},
		"a rule that goes on beyond the database": {"30 2 * * *", berlin, "2199-03-30T12:00:00+01:00", "31 03:00 +0200 gap, 01 02:30 +0200"},
	} {
		t.Run(claim, func(t *testing.T) {
			loc := zone(t, c.zone)
			var got []string
			n := strings.Count(c.want, ",") + 1
			for _, o := range trigger.NewCronSchedule(mustParse(t, c.expr), loc).Upcoming(at(c.after), n) {
				got = append(got, strings.TrimSpace(o.At.In(loc).Format("02 15:04 -0700 ")+string(o.Shift)))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
