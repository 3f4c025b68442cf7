package run

import "time"

// Abandon cancels a run without looking at the version it executes, because that is
// about to be deleted, or is gone. What became due by itself until then does not take
// effect first, other than in [Run.Advance]. A run that has ended refuses it in the
// same way.
func (r *Run) Abandon(at time.Time, reason string) Step {
	m := &machine{view: view{run: r}, s: &r.state, at: truncated(at)}
	if m.at.Before(m.s.UpdatedAt) {
		m.at = m.s.UpdatedAt
	}
	m.cancel(CancelRequested{Reason: reason})
	m.conclude()
	return m.step
}
