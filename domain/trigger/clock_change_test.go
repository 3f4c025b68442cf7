package trigger_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/trigger"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// Each case lists the local times, with their offsets, and the shifts.
func TestChangesOfTheClocks(t *testing.T) {
	const newYork, berlin, lordHowe = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
	for claim, c := range map[string]struct {
		expr, zone, after string
		want              []string
	}{
		"a fixed time that does not exist is due once, at the change": {
			"30 2 * * *", newYork, "2026-03-07T03:00:00-05:00", []string{"03-08 03:00 -0400 gap", "03-09 02:30 -0400"},
		},
		"several fixed times that do not exist are due once together, also with one at the change": {
			"*/15 2,3 8 3 *", newYork, "2026-03-08T00:00:00-05:00",
			[]string{"03-08 03:00 -0400 gap", "03-08 03:15 -0400", "03-08 03:30 -0400", "03-08 03:45 -0400"},
		},
		"a fixed time that happens twice is due the first time": {
			"30 1 * * *", newYork, "2026-10-31T12:00:00-04:00", []string{"11-01 01:30 -0400 repeated", "11-02 01:30 -0500"},
		},
		"asking between the two showings does not bring the second": {
			"30 1 * * *", newYork, "2026-11-01T01:10:00-05:00", []string{"11-02 01:30 -0500"},
		},
		"the time at which the repeated hour begins is due the first time too": {
			"0 1,2 * * *", newYork, "2026-11-01T00:00:00-04:00",
			[]string{"11-01 01:00 -0400 repeated", "11-01 02:00 -0500", "11-02 01:00 -0500"},
		},
		"midnight that does not exist is due at one": {
			"0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00+02:00", []string{"03-29 01:00 +0300 gap", "03-30 00:00 +0300"},
		},
		"an hourly expression goes on each hour when the clocks go forward": {
			"30 * * * *", newYork, "2026-03-08T00:30:00-05:00", []string{"03-08 01:30 -0500", "03-08 03:30 -0400", "03-08 04:30 -0400"},
		},
		"an hourly expression goes on each hour when they go back": {
			"30 * * * *", newYork, "2026-11-01T00:30:00-04:00",
			[]string{"11-01 01:30 -0400", "11-01 01:30 -0500 again", "11-01 02:30 -0500"},
		},
		"every hour by name is hourly": {
			"0 0-23 * * *", newYork, "2026-11-01T00:30:00-04:00", []string{"11-01 01:00 -0400", "11-01 01:00 -0500 again", "11-01 02:00 -0500"},
		},
		"every two hours leaves none out when the clocks go forward": {
			"30 */2 * * *", newYork, "2026-03-08T00:00:00-05:00",
			[]string{"03-08 00:30 -0500", "03-08 03:30 -0400 displaced", "03-08 04:30 -0400"},
		},
		"every two hours is not due twice when they go back": {
			"0 */2 * * *", berlin, "2026-10-24T23:30:00+02:00",
			[]string{"10-25 00:00 +0200", "10-25 02:00 +0200 repeated", "10-25 04:00 +0100"},
		},
		"asking between the two showings does not bring every two hours again": {
			"*/30 */2 * * *", berlin, "2026-10-25T02:10:00+01:00", []string{"10-25 04:00 +0100"},
		},
		"a change by half an hour forward": {
			"15 * * * *", lordHowe, "2026-10-04T01:00:00+10:30", []string{"10-04 01:15 +1030", "10-04 02:45 +1100 displaced", "10-04 03:15 +1100"},
		},
		"a change by half an hour back": {
			"45 * * * *", lordHowe, "2026-04-05T01:00:00+11:00", []string{"04-05 01:45 +1100", "04-05 01:45 +1030 again", "04-05 02:45 +1030"},
		},
		"a day that a zone leaves out is not due": {
			"0 9 * * *", "Pacific/Apia", "2011-12-28T12:00:00-10:00", []string{"12-29 09:00 -1000", "12-31 09:00 +1400"},
		},
		"an hourly expression goes on across a day that a zone leaves out": {
			"0 * * * *", "Pacific/Apia", "2011-12-29T22:30:00-10:00", []string{"12-29 23:00 -1000", "12-31 00:00 +1400", "12-31 01:00 +1400"},
		},
		"an hourly expression for a day that a zone leaves out waits for the next": {
			"0 * 30 12 *", "Pacific/Apia", "2011-12-29T22:30:00-10:00", []string{"12-30 00:00 +1400", "12-30 01:00 +1400"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			loc := zone(t, c.zone)
			var got []string
			for _, o := range trigger.NewCronSchedule(mustParse(t, c.expr), loc).Upcoming(at(c.after), len(c.want)) {
				got = append(got, strings.TrimSpace(o.At.In(loc).Format("01-02 15:04 -0700 ")+string(o.Shift)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryShiftHasAReason(t *testing.T) {
	seen := map[string]bool{trigger.NoShift.Reason(): true}
	for _, s := range []trigger.Shift{trigger.Gap, trigger.Displaced, trigger.Repeated, trigger.Again} {
		if reason := s.Reason(); seen[reason] {
			t.Errorf("%s: %q", s, reason)
		} else {
			seen[reason] = true
		}
	}
	if trigger.NoShift.Reason() != "" {
		t.Error("no shift needs no reason")
	}
}

// zoneNames are those of the IANA database (its 2026 edition as Go embeds it).
func zoneNames(t testing.TB) []string {
	t.Helper()
	file, err := os.Open("testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var names []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		names = append(names, lines.Text())
	}
	return names
}

// For ten years, in every zone, an expression with a fixed hour is due exactly once
// on each local day, and at the time it names unless the clocks do not show it.
func TestAFixedHourIsDueOnceALocalDayInEveryZone(t *testing.T) {
	names := zoneNames(t)
	if len(names) < 590 {
		t.Fatalf("there are only %d zones", len(names))
	}
	if testing.Short() {
		names = append(names[:0:0], "America/New_York", "America/Nuuk", "Africa/Casablanca", "Asia/Beirut", "Asia/Gaza",
			"Australia/Lord_Howe", "Europe/Dublin", "America/Santiago", "America/Scoresbysund", "Antarctica/Troll")
	}
	for _, c := range []struct{ hour, minute int }{{0, 0}, {1, 30}, {2, 30}, {3, 15}} {
		daily := mustParse(t, fmt.Sprintf("%d %d * * *", c.minute, c.hour))
		for _, name := range names {
			loc := zone(t, name)
			schedule := trigger.NewCronSchedule(daily, loc)
			after := time.Date(2020, 1, 1, 0, 0, 0, 0, loc).Add(-time.Second)
			for day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
				next, ok := schedule.Next(after)
				local := next.At.In(loc)
				if y, m, d := local.Date(); !ok || !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Equal(day) {
					t.Fatalf("%s in %s: %s follows %s", daily, name, local, after)
				}
				if named := local.Hour() == c.hour && local.Minute() == c.minute; named == (next.Shift == trigger.Gap) {
					t.Fatalf("%s in %s: due at %s with the shift %q", daily, name, local, next.Shift)
				}
				after = next.At
			}
		}
	}
}
