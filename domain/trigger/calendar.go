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
