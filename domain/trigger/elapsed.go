package trigger

import "time"

// nextElapsed finds the next occurrence of an expression that follows the time that
// passes, one period of constant offset after the other.
func (s Schedule) nextElapsed(after time.Time) (Occurrence, bool) {
	for from := after.Add(1); ; {
		p := periodAt(from, s.zone)
		next, ok := s.cron.nextIn(p, from)
		if !ok {
			return Occurrence{}, false
		}
		if p.end.IsZero() || next.At.Before(p.end) {
			if next.Shift == NoShift && !s.cron.everyHour() {
				next.Shift = shiftOf(next.At.Add(p.offset), next.At, s.zone)
			}
			return next, true
		}
		from = p.end.UTC()
	}
}

// nextIn returns the first occurrence at an instant of the period or after it, if
// the period had no end; ok is false when no date fits.
func (c Cron) nextIn(p period, from time.Time) (Occurrence, bool) {
	back := p.previous - p.offset // by how much the clocks went back at its start
	repeats := p.start.Add(back)  // until then they show what they showed before
	if back > 0 && from.Before(repeats) && !c.everyHour() {
		from = repeats
	}
	at, ok := c.nextAt(from, p.offset)
	if !ok {
		return Occurrence{}, false
	}
	if back > 0 && at.Before(repeats) {
		return Occurrence{At: at, Shift: Again}, true
	}
	if forward := -back; forward > 0 && forward < 24*time.Hour {
		lost, found := c.nextAt(from, p.previous)
		if found && lost.Before(at) && lost.Before(p.start.Add(forward)) {
			return Occurrence{At: lost, Shift: Displaced}, true
		}
	}
	return Occurrence{At: at}, true
}

// nextAt returns the first instant from the given one on at which a clock with a
// constant offset shows a time that fits.
func (c Cron) nextAt(from time.Time, offset time.Duration) (time.Time, bool) {
	w, ok := c.nextWall(wallOf(from, offset).Add(-1))
	return w.Add(-offset), ok
}

// everyHour says whether the expression names all hours, so that it is due each hour
// that passes even while the clocks repeat one.
func (c Cron) everyHour() bool { return c.hours == allHours }

// period is a stretch of time through which a zone keeps its offset.
type period struct {
	start, end       time.Time // end is excluded, and zero when the period has no end
	offset, previous time.Duration
}

// periodAt returns the period that holds an instant. Where nothing comes before it,
// the previous offset is its own.
func periodAt(at time.Time, zone *time.Location) period {
	start, end := at.In(zone).ZoneBounds()
	p := period{start: start.UTC(), end: end, offset: offsetAt(at, zone)}
	p.previous = p.offset
	if !start.IsZero() {
		p.previous = offsetAt(start.Add(-1), zone)
	}
	return p
}
