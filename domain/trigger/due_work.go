package trigger

import "time"

// DueWork is what there is to do at one look at a trigger's schedule.
type DueWork struct {
	Plan           []PlannedFire // in order; an instant that starts a run may still be suppressed
	ProcessedUntil time.Time     // once the plan is carried out, every instant up to it is dealt with
	Next           time.Time     // when to look again; zero when the schedule is never due any more
}

// DueWork says what is to be done about the instants after dealtWith, up to now, for at
// most the given number of them, and sometimes one more ([Schedule.Due]). Where there are
// others, the next look is due at once and goes on from there; looking again does not
// change what is decided, other than that time goes on.
func (t *Trigger) DueWork(dealtWith, now time.Time, most int) DueWork {
	s, ok := t.Schedule()
	if !ok {
		return DueWork{ProcessedUntil: later(dealtWith, now)}
	}
	plan, rest := s.Due(dealtWith, now, t.state.Config.CatchUp(), max(most, 1))
	t.suppressLeft(plan)
	if !rest.IsZero() {
		// What is too old is dealt with as a whole by the first entry.
		return DueWork{Plan: plan, ProcessedUntil: later(plan[len(plan)-1].At, now.Add(-MaxLookBack-time.Millisecond)), Next: rest}
	}
	a := DueWork{Plan: plan, ProcessedUntil: later(dealtWith, now)}
	if next, ok := s.Next(a.ProcessedUntil); ok {
		a.Next = next.At
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Overlapping is the plan for an instant while a run of the trigger still goes on: one
// that would start a run is suppressed where runs must not overlap.
func (o Overlap) Overlapping(p PlannedFire) PlannedFire {
	if o == OverlapSkip && p.Outcome.Starts() {
		p.Reason = p.Outcome.suppressedBy("a run of this trigger still goes on, and overlap is set to skip")
		p.Outcome = Suppressed
	}
	return p
}
