package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	robfig "github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

// walker finds what is due by looking at every single minute, with the sets of
// values that another implementation read in the expression.
type walker struct {
	*robfig.SpecSchedule
	zone *time.Location
}

const anyBit = 1 << 63 // how the other implementation marks a field that is *

func (w walker) fits(shown time.Time) bool {
	has := func(set uint64, value int) bool { return set&(1<<value) != 0 }
	dom, dow := has(w.Dom, shown.Day()), has(w.Dow, int(shown.Weekday()))
	day := dom || dow
	if w.Dom&anyBit != 0 || w.Dow&anyBit != 0 {
		day = dom && dow
	}
	return day && has(w.Minute, shown.Minute()) && has(w.Hour, shown.Hour()) && has(w.Month, int(shown.Month()))
}

// everyHour and elapsing are the two properties of the hour field.
func (w walker) everyHour() bool { return w.Hour&(1<<24-1) == 1<<24-1 }

// due lists the instants after one and before the other. elapsing says that times
// that do not exist keep their distance from the change.
func (w walker) due(after, until time.Time, elapsing bool) []time.Time {
	shownAt := func(at time.Time) time.Time { // what the clock shows, as if it were UTC
		_, offset := at.In(w.zone).Zone()
		return at.UTC().Add(time.Duration(offset) * time.Second)
	}
	seen := map[time.Time]bool{}
	found := map[time.Time]bool{}
	start := after.Add(-30 * time.Hour).Truncate(time.Minute)
	for at, last := start, shownAt(start.Add(-time.Minute)); at.Before(until); at = at.Add(time.Minute) {
		shown := shownAt(at)
		first, gap := last.Add(time.Minute), shown.Sub(last)-time.Minute
		for lost := first; lost.Before(shown); lost = lost.Add(time.Minute) {
			switch midnight := lost.Truncate(24 * time.Hour); {
			case !w.fits(lost):
			case elapsing && gap < 24*time.Hour:
				found[at.Add(lost.Sub(first))] = true
			case !elapsing && (first.After(midnight) || shown.Before(midnight.AddDate(0, 0, 1))):
				found[at] = true
			}
		}
		if w.fits(shown) && (!seen[shown] || elapsing && w.everyHour()) {
			found[at] = true
		}
		seen[shown], last = true, shown
	}
	var due []time.Time
	for at := start; at.Before(until); at = at.Add(time.Minute) {
		if found[at] && at.After(after) {
			due = append(due, at.UTC())
		}
	}
	return due
}

// Around changes of the clocks, in every zone, the schedule agrees with a walk from
// minute to minute.
func TestTheScheduleAgreesWithAWalkAroundChanges(t *testing.T) {
	names := zoneNames(t)
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join([]string{
			drawField(t, "minute", 0, 59, ""), rapid.SampledFrom([]string{drawField(t, "hour", 0, 23, ""), "1-3", "0,23", "2", "*/2", "0-23", "*/1"}).Draw(t, "hours"),
			drawField(t, "day", 1, 31, ""), "*", drawField(t, "weekday", 0, 6, ""),
		}, " ")
		c, err := trigger.ParseCron(expr)
		if err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom(names).Draw(t, "zone")
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := robfig.ParseStandard(expr)
		if err != nil {
			t.Fatal(err)
		}
		sets, ok := spec.(*robfig.SpecSchedule)
		if !ok {
			t.Fatalf("%T", spec)
		}
		middle := time.Unix(rapid.Int64Range(200_000_000, 2_100_000_000).Draw(t, "middle"), 0) // 1976 to 2036
		if _, change := middle.In(loc).ZoneBounds(); !change.IsZero() {
			middle = change
		}
		after := middle.Add(time.Duration(rapid.Int64Range(-26*60, 26*60).Draw(t, "minutes")) * time.Minute).UTC()
		until := after.Add(40 * time.Hour)

		hours := strings.Fields(expr)[1]
		w := walker{sets, loc}
		elapsing := w.everyHour() || strings.HasPrefix(hours, "*/") && !strings.Contains(hours, ",")
		want := w.due(after, until, elapsing)
		var got []time.Time
		s := trigger.NewCronSchedule(c, loc)
		for next, ok := s.Next(after); ok && next.At.Before(until); next, ok = s.Next(next.At) {
			got = append(got, next.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %s after %s, with a change at %s:\n%s", expr, name, after, middle.In(loc), diff)
		}
	})
}
