package trigger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/trigger"
)

// walker finds what is due by looking at every single minute. It reads expressions
// by itself, in the plainest way: each field as the list of its values.
type walker struct {
	fields [5][]int // minute, hour, day, month, weekday
	any    [5]bool  // the field is *
	zone   *time.Location
}

func newWalker(expr string, zone *time.Location) walker {
	w := walker{zone: zone}
	for i, field := range strings.Fields(valueOfName.Replace(strings.ToLower(expr))) {
		least, most := []int{0, 0, 1, 1, 0}[i], []int{59, 23, 31, 12, 6}[i]
		for part := range strings.SplitSeq(field, ",") {
			for v := least; v <= most; v++ {
				if partHolds(part, v, least) {
					w.fields[i] = append(w.fields[i], v)
				}
			}
			w.any[i] = w.any[i] || part == "*" || part == "*/1"
		}
	}
	return w
}

var valueOfName = strings.NewReplacer("jan", "1", "feb", "2", "mar", "3", "apr", "4", "may", "5", "jun", "6", "jul", "7", "aug", "8",
	"sep", "9", "oct", "10", "nov", "11", "dec", "12", "sun", "0", "mon", "1", "tue", "2", "wed", "3", "thu", "4", "fri", "5", "sat", "6")

// partHolds says whether a value is in *, "a", "a-b", "a/n", "*/n" or "a-b/n".
func partHolds(part string, v, least int) bool {
	var from, to, step int
	scan := func(form string, into ...any) bool {
		n, err := fmt.Sscanf(part+"$", form+"$", into...)
		return err == nil && n == len(into)
	}
	switch {
	case part == "*":
		return true
	case scan("*/%d", &step):
		return (v-least)%step == 0
	case scan("%d-%d/%d", &from, &to, &step):
		return v >= from && v <= to && (v-from)%step == 0
	case scan("%d/%d", &from, &step):
		return v >= from && (v-from)%step == 0
	case scan("%d-%d", &from, &to):
		return v >= from && v <= to
	default:
		return scan("%d", &from) && v == from
	}
}

func (w walker) has(field, value int) bool { return slices.Contains(w.fields[field], value) }

func (w walker) fits(shown time.Time) bool {
	return w.fitsDay(shown) && w.has(0, shown.Minute()) && w.has(1, shown.Hour())
}

func (w walker) fitsDay(shown time.Time) bool {
	dayOfMonth, weekday := w.has(2, shown.Day()), w.has(4, int(shown.Weekday()))
	day := dayOfMonth || weekday
	if w.any[2] || w.any[4] {
		day = dayOfMonth && weekday
	}
	return day && w.has(3, int(shown.Month()))
}

func (w walker) everyHour() bool {
	hours := slices.Clone(w.fields[1])
	slices.Sort(hours)
	return len(slices.Compact(hours)) == 24
}

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

// In zones whose clocks never change the next occurrence fits, and nothing between
// does: neither the rest of the first day, nor a day between, nor the beginning of
// the last.
func TestNothingThatFitsIsLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := drawExpression(t)
		loc := time.FixedZone("", rapid.IntRange(-14*4, 14*4).Draw(t, "offset")*900)
		after := time.Unix(rapid.Int64Range(1_500_000_000, 3_000_000_000).Draw(t, "after"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(loc)
		w := newWalker(expr, loc)
		next := trigger.Occurrence{At: after.AddDate(9, 0, 0)}
		if c, err := trigger.ParseCron(expr); err == nil {
			var ok bool
			if next, ok = trigger.NewCronSchedule(c, loc).Next(after); !ok || !next.At.After(after) || !w.fits(next.At.In(loc)) || next.Shift != trigger.NoShift {
				t.Fatalf("%q after %s is due at %v, %v", expr, after, next, ok)
			}
		}
		for at := after.Truncate(time.Minute).Add(time.Minute); at.Before(next.At); at = at.Add(time.Minute) {
			if local := at.In(loc); !w.fitsDay(local) {
				at = time.Date(local.Year(), local.Month(), local.Day(), 23, 59, 0, 0, loc)
			} else if w.fits(local) {
				t.Fatalf("%q after %s is due at %s, not only at %s", expr, after, at, next.At)
			}
		}
	})
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
		middle := time.Unix(rapid.Int64Range(200_000_000, 2_100_000_000).Draw(t, "middle"), 0) // 1976 to 2036
		if _, change := middle.In(loc).ZoneBounds(); !change.IsZero() {
			middle = change
		}
		after := middle.Add(time.Duration(rapid.Int64Range(-26*60, 26*60).Draw(t, "minutes")) * time.Minute).UTC()
		until := after.Add(40 * time.Hour)

		hours := strings.Fields(expr)[1]
		w := newWalker(expr, loc)
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
