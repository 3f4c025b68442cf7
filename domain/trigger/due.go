package trigger

import "time"

// How late an instant may be.
const (
	LateAfter   = 5 * time.Second // from then on a fire is recorded as late
	MissedAfter = time.Minute     // from then on an instant counts as missed
	MaxLookBack = 24 * time.Hour  // missed instants before that are not caught up
)

// Due says what is to be done about every instant after last, up to now, in order.
// Last is any time up to which nothing is left to do: the last look, the last instant
// that was dealt with, or, at first, when the schedule took effect. Instants that are on time fire; missed ones
// follow the catch-up. Instants more than [MaxLookBack] ago are not listed one by
// one: the first of them stands for all.
func (s Schedule) Due(last, now time.Time, catchUp CatchUp) []Planned {
	var plan []Planned
	oldest := now.Add(-MaxLookBack)
	if last.Before(oldest) {
		if first, ok := s.Next(last); ok && first.At.Before(oldest) {
			plan = append(plan, Planned{At: first.At, Outcome: Skipped, Reason: "missed more than 24 hours ago, with every later one until " + oldest.UTC().Format(time.RFC3339)})
		}
		last = oldest.Add(-1)
	}
	newestMissed := -1
	for {
		next, ok := s.Next(last)
		if !ok || next.At.After(now) {
			break
		}
		last = next.At
		p := Planned{At: next.At, Outcome: Fired, Reason: next.Shift.Reason()}
		switch late := now.Sub(next.At); {
		case late >= MissedAfter:
			p.Outcome, p.Reason = missed(catchUp)
			newestMissed = len(plan)
		case late >= LateAfter:
			p.Outcome, p.Reason = Late, "fired "+late.Truncate(time.Millisecond).String()+" after it was due"
		}
		plan = append(plan, p)
	}
	if catchUp == CatchUpLast && newestMissed >= 0 {
		plan[newestMissed].Outcome, plan[newestMissed].Reason = CaughtUp, "the latest one that was missed"
	}
	return plan
}

func missed(catchUp CatchUp) (Outcome, string) {
	switch catchUp {
	case CatchUpAll:
		return CaughtUp, "missed while nothing could fire"
	case CatchUpLast:
		return Skipped, "missed while nothing could fire; only the latest one is caught up"
	default:
		return Skipped, "missed while nothing could fire, and catching up is switched off"
	}
}

// Planned is what is to be done about one instant.
type Planned struct {
	At      time.Time
	Outcome Outcome
	Reason  string // for people; empty for a fire that needs no explanation
}
