package run

import "time"

// Abandon cancels a run without looking at the version it executes, because that is
// about to be deleted, or is gone. What became due by itself until then does not take
// effect first, other than in [Run.Advance]. A run that has ended refuses it in the
// same way.
func (r *Run) Abandon(at time.Time, reason string) Step {
	m := r.planless(at)
	m.cancel(CancelRequested{Reason: reason})
	m.conclude()
	return m.step
}

// GiveUp lets a run fail with [CodeInternal], because what it would do next cannot be
// kept. Like [Run.Abandon] it does not look at the version, and its texts are its own,
// so that nothing that came from outside stands in its way. A run that has ended does
// not change. One that is retried afterwards goes on from what was kept of it.
func (r *Run) GiveUp(at time.Time) Step {
	return r.failWith(at, Failure{Code: CodeInternal, Message: "The run was ended because the gateway could not keep its next step."})
}

// ExhaustMemory lets a run fail with [CodeExhaustedMemory], as [Run.GiveUp] does.
func (r *Run) ExhaustMemory(at time.Time) Step {
	return r.failWith(at, Failure{Code: CodeExhaustedMemory, Message: "The gateway ended twice while it worked on the run, the second time on this run alone. " +
		"The run takes more memory than there is. Pass less data from node to node."})
}

func (r *Run) failWith(at time.Time, f Failure) Step {
	m := r.planless(at)
	if !m.s.Status.Finished() {
		m.finish(StatusFailed, &f, "")
	}
	m.conclude()
	return m.step
}

// planless is a machine that ends the run.
func (r *Run) planless(at time.Time) *machine {
	m := &machine{view: view{run: r}, s: &r.state, at: truncated(at)}
	if m.at.Before(m.s.UpdatedAt) {
		m.at = m.s.UpdatedAt
	}
	return m
}
