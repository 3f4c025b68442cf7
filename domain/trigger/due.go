package trigger

import "time"

// How late an instant may be.
const (
	LateAfter   = 5 * time.Second // from then on a fire is recorded as late
	MissedAfter = time.Minute     // from then on an instant counts as missed
	MaxLookBack = 24 * time.Hour  // missed instants before that are not caught up
)

// Due says what is to be done about the instants after last, up to now, in order. Last is
// any time up to which nothing is left to do: the last look, the last instant that was
// dealt with, or, at first, when the schedule took effect.
//
// How late an instant is, is the time from when it was due to now. It was missed when
// that is [MissedAfter] or more: nothing could fire then. It was missed as well when it
// is [LateAfter] or more and an earlier one was missed with it: then it became due in the
// same outage, and only the end of that is near. All others can be dealt with by a
// gateway that is up, though busy, or being started anew. As schedules are due a minute
// apart at least, only the newest instant can be one of them. So:
//
//   - [Fired]: not missed, and less than [LateAfter] late, whatever the catch-up.
//   - [Late]: not missed, and [LateAfter] late or more, whatever the catch-up.
//   - [CaughtUp]: missed, and a run is started anyway: with [CatchUpAll] for each,
//     with [CatchUpLast] for the newest instant there is, and for none where the newest
//     was not missed. An outage leads to one run then, not to two. With [CatchUpNone]
//     never.
//   - [Skipped]: all others that were missed.
//
// Missed instants more than [MaxLookBack] ago are not listed one by one: the first of them
// stands for all, and is skipped.
//
// At most the given number of instants is planned, and one more where the outcome of that
// one depends on this plan. Rest is the first instant that is left, zero when there is none;
// planning again from the last planned one decides about the others as one plan would
// have.
func (s Schedule) Due(last, now time.Time, catchUp CatchUp, most int) (plan []PlannedFire, rest time.Time) {
	oldest := now.Add(-MaxLookBack)
	if last.Before(oldest) {
		if first, ok := s.Next(last); ok && first.At.Before(oldest) {
			plan = append(plan, PlannedFire{At: first.At, Outcome: Skipped, Reason: "missed more than 24 hours ago, with every later one until " + oldest.UTC().Format(time.RFC3339)})
		}
		last = oldest.Add(-1)
	}
	outage := len(plan) > 0
	for {
		next, ok := s.Next(last)
		if !ok || next.At.After(now) {
			break
		}
		late := now.Sub(next.At)
		if len(plan) >= most && (late >= MissedAfter || len(plan) > most) {
			return plan, next.At
		}
		p := PlannedFire{At: next.At, Outcome: Fired, Reason: next.Shift.Reason()}
		switch {
		case late >= MissedAfter || outage && late >= LateAfter:
			p.Outcome, p.Reason = missed(catchUp)
			outage = true
		case late >= LateAfter:
			p.Outcome, p.Reason = Late, "fired "+late.Truncate(time.Millisecond).String()+" after it was due"
		}
		plan, last = append(plan, p), next.At
	}
	if n := len(plan) - 1; n >= 0 && catchUp == CatchUpLast && plan[n].Outcome == Skipped && !plan[n].At.Before(oldest) {
		plan[n].Outcome, plan[n].Reason = CaughtUp, "the latest one that was missed"
	}
	return plan, time.Time{}
}

func missed(catchUp CatchUp) (FireOutcome, string) {
	switch catchUp {
	case CatchUpAll:
		return CaughtUp, "missed while nothing could fire"
	case CatchUpLast:
		return Skipped, "missed while nothing could fire; only the latest one may start a run"
	default:
		return Skipped, "missed while nothing could fire, and catching up is switched off"
	}
}

// PlannedFire is what is to be done about one instant.
type PlannedFire struct {
	At      time.Time
	Outcome FireOutcome
	Reason  string // for people; empty for a fire that needs no explanation
}
