package trigger

import "time"

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
