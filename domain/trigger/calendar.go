package trigger

import (
	"math/bits"
	"time"
)

// A wall time is what a clock on the wall shows, without a zone. It is held as a
// time.Time in UTC, where every wall time exists exactly once.

// horizon bounds the search for a date: the calendar repeats after 400 years.
const horizon = 400

// nextWall returns the first wall time that fits and is after the given one; ok is
// false when none does within the calendar's period.
func (c Cron) nextWall(after time.Time) (time.Time, bool) {
	year, month, day := after.Date()
	// On the first day only the rest of the day is looked at.
	if c.fitsDay(year, month, day) {
		if minutes, ok := c.nextInDay(after.Hour(), after.Minute()+1); ok {
			return wall(year, month, day, minutes), true
		}
	}
	first, ok := c.nextInDay(0, 0)
	if !ok {
		return time.Time{}, false
	}
	for last := year + horizon; year <= last; {
		if c.months&(1<<month) == 0 {
			year, month, day = nextMonth(year, month)
			if c.fitsDay(year, month, day) {
				return wall(year, month, day, first), true
			}
			continue
		}
		if day++; day > daysIn(year, month) {
			year, month, day = nextMonth(year, month)
		}
		if c.fitsDay(year, month, day) {
			return wall(year, month, day, first), true
		}
	}
	return time.Time{}, false
}

// nextInDay returns the first minute of the day that fits, counted from midnight,
// at the given time or after it. The minute may be 60.
func (c Cron) nextInDay(hour, minute int) (int, bool) {
	if c.hours&(1<<hour) != 0 {
		if rest := c.minutes >> minute; minute < 60 && rest != 0 {
			return hour*60 + minute + bits.TrailingZeros64(rest), true
		}
	}
	later := c.hours >> (hour + 1)
	if later == 0 || c.minutes == 0 {
		return 0, false
	}
	return (hour+1+bits.TrailingZeros64(later))*60 + bits.TrailingZeros64(c.minutes), true
}

func (c Cron) fitsDay(year int, month time.Month, day int) bool {
	if c.months&(1<<month) == 0 {
		return false
	}
	dayOfMonth := c.daysOfMonth&(1<<day) != 0
	weekday := c.weekdays&(1<<wall(year, month, day, 0).Weekday()) != 0
	switch {
	case c.anyDayOfMonth:
		return weekday
	case c.anyWeekday:
		return dayOfMonth
	default:
		return dayOfMonth || weekday
	}
}

func wall(year int, month time.Month, day, minutes int) time.Time {
	return time.Date(year, month, day, minutes/60, minutes%60, 0, 0, time.UTC)
}

func nextMonth(year int, month time.Month) (int, time.Month, int) {
	if month == time.December {
		return year + 1, time.January, 1
	}
	return year, month + 1, 1
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// wallOf returns the wall time of an instant at an offset from UTC.
func wallOf(at time.Time, offset time.Duration) time.Time { return at.UTC().Add(offset) }

// offsetAt returns how far the zone is ahead of UTC at an instant.
func offsetAt(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// instantOf says when a wall time is in a zone: where it happens twice, the first
// time; where it does not exist, the instant of the change that leaves it out. ok
// is false when the change leaves out the whole day.
func instantOf(w time.Time, zone *time.Location) (at time.Time, shift Shift, ok bool) {
	// Every offset in force around the wall time is in force at one of these instants:
	// offsets lie within a day of UTC, and so do changes.
	early := w.Add(-offsetAt(w.Add(-26*time.Hour), zone))
	if at, found := firstAt(w, early, zone); found {
		return at, shiftOf(w, at, zone), true
	}
	change := changeOver(w, zone)
	before, after := wallOf(change.Add(-1), offsetAt(change.Add(-1), zone)), wallOf(change, offsetAt(change, zone))
	midnight := time.Date(w.Year(), w.Month(), w.Day(), 0, 0, 0, 0, time.UTC)
	if before.Before(midnight) && !after.Before(midnight.AddDate(0, 0, 1)) {
		return time.Time{}, NoShift, false
	}
	return change.UTC(), Gap, true
}

// firstAt finds the earliest instant that shows the wall time, walking the zone's
// periods of constant offset.
func firstAt(w, guess time.Time, zone *time.Location) (time.Time, bool) {
	for at := guess.Add(-26 * time.Hour); ; {
		start, end := at.In(zone).ZoneBounds()
		candidate := w.Add(-offsetAt(at, zone))
		if (start.IsZero() || !candidate.Before(start)) && (end.IsZero() || candidate.Before(end)) {
			return candidate, true
		}
		if end.IsZero() || end.After(guess.Add(52*time.Hour)) {
			return time.Time{}, false
		}
		at = end
	}
}

// shiftOf says whether the wall time that at shows is shown a second time later.
func shiftOf(w, at time.Time, zone *time.Location) Shift {
	_, end := at.In(zone).ZoneBounds()
	if end.IsZero() {
		return NoShift
	}
	if again := w.Add(-offsetAt(end, zone)); !again.Before(end) {
		if _, next := end.In(zone).ZoneBounds(); next.IsZero() || again.Before(next) {
			return Repeated
		}
	}
	return NoShift
}

// changeOver finds the change of offset that leaves a wall time out.
func changeOver(w time.Time, zone *time.Location) time.Time {
	at := w.Add(-52 * time.Hour)
	for {
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() || wallOf(end, offsetAt(end, zone)).After(w) {
			return end
		}
		at = end
	}
}
