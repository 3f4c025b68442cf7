package trigger

import (
	"time"
)

// Schedule says when something is due: by a cron expression in a zone, or every so
// often from an instant on. Build one with [NewCronSchedule] or
// [NewIntervalSchedule]; the zero value is never due.
//
// At a change of the clocks an expression that names its hours is due once for each
// local time it names: a time that does not exist is due at the change, a time that
// happens twice is due the first time, and a day that a zone leaves out altogether
// is not due. An expression whose hour is *, */n or every hour by name follows the
// time that passes: a time that does not exist is due as long after the change as
// the clocks would have shown it, and one for every hour is due both times that the
// clocks show a time, because an hour passes in between. So an hourly one neither
// leaves an hour out nor fires twice in one.
type Schedule struct {
	cron     *Cron
	zone     *time.Location
	interval time.Duration
	anchor   time.Time
}

// NewCronSchedule is due when a clock in the zone shows a time that fits.
func NewCronSchedule(c Cron, zone *time.Location) Schedule { return Schedule{cron: &c, zone: zone} }

// NewIntervalSchedule is due each interval after the anchor, at the anchor not yet.
func NewIntervalSchedule(interval time.Duration, anchor time.Time) Schedule {
	return Schedule{interval: interval, anchor: anchor.UTC()}
}

// Shift says how a change of the clocks affected an occurrence.
type Shift string

// The ways in which a change of the clocks affects an occurrence.
const (
	NoShift   Shift = ""
	Gap       Shift = "gap"       // the local time does not exist; it is due at the change
	Displaced Shift = "displaced" // the local time does not exist; it is due when the clocks would have shown it
	Repeated  Shift = "repeated"  // the local time happens twice; it is due the first time
	Again     Shift = "again"     // the local time happens twice, and this is the second time
)

// Reason explains the shift to people; empty for [NoShift].
func (s Shift) Reason() string {
	switch s {
	case Gap:
		return "The local time does not exist because the clocks go forward; it fires when they do."
	case Repeated:
		return "The local time happens twice because the clocks go back; it fires the first time only."
	case Displaced:
		return "The local time does not exist because the clocks go forward; it fires when they would have shown it."
	case Again:
		return "The local time happens twice because the clocks go back; it fires both times, as it is due every hour."
	default:
		return ""
	}
}

// Occurrence is an instant at which a schedule is due.
type Occurrence struct {
	At    time.Time // in UTC
	Shift Shift
}

// endOfSchedules is where all schedules end: nothing is due from then on. What is due
// before it has a year of four digits in every zone, as times are written (RFC 3339, §1).
var endOfSchedules = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Next returns the first occurrence after an instant; ok is false when there is
// none any more, or none before the end of all schedules.
func (s Schedule) Next(after time.Time) (next Occurrence, ok bool) {
	switch after = after.UTC(); {
	case !after.Before(endOfSchedules):
		return Occurrence{}, false
	case s.interval > 0:
		next, ok = Occurrence{At: s.nextInterval(after)}, true
	case s.cron == nil:
		return Occurrence{}, false
	case s.cron.elapsing:
		next, ok = s.nextElapsed(after)
	default:
		next, ok = s.nextNamed(after)
	}
	if !ok || !next.At.Before(endOfSchedules) {
		return Occurrence{}, false
	}
	return next, true
}

// Upcoming returns the next n occurrences after an instant, fewer when there are
// no more.
func (s Schedule) Upcoming(after time.Time, n int) []Occurrence {
	upcoming := make([]Occurrence, 0, n)
	for len(upcoming) < n {
		next, ok := s.Next(after)
		if !ok {
			break
		}
		upcoming = append(upcoming, next)
		after = next.At
	}
	return upcoming
}

// nextInterval goes on from the first instant. It takes more than one step only where
// a difference is greater than a duration can hold, which is 292 years.
func (s Schedule) nextInterval(after time.Time) time.Time {
	next := s.anchor.Add(s.interval)
	for !next.After(after) {
		passed := after.Sub(next) / s.interval
		next = next.Add(passed * s.interval).Add(s.interval)
	}
	return next
}

// nextNamed finds the next local time that the expression names. Instants do not
// decrease as local times go on, so the first one that is late enough is the next.
func (s Schedule) nextNamed(after time.Time) (Occurrence, bool) {
	w := wallOf(after, offsetAt(after, s.zone))
	for {
		var ok bool
		if w, ok = s.cron.nextWall(w); !ok {
			return Occurrence{}, false
		}
		if at, shift, exists := instantOf(w, s.zone); exists && at.After(after) {
			return Occurrence{At: at, Shift: shift}, true
		}
	}
}
