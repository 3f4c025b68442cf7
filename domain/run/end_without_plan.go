package run

import "time"

// Abandon cancels a run whose version is about to be deleted, or is gone. Unlike in
// [Run.Advance], what became due until then does not take effect first. A run that has
// ended refuses it.
func (r *Run) Abandon(at time.Time, reason string) Step {
	m := r.machineWithoutPlan(at)
	m.cancel(CancelRequested{Reason: reason})
	m.conclude()
	return m.step
}

// GiveUp lets a run fail with [CodeInternal], because its next step cannot be stored. It
// does not look at the version, and stores no text from outside. A run that has ended
// does not change. A retry continues from what was stored.
func (r *Run) GiveUp(at time.Time) Step {
	return r.failWith(at, Failure{Code: CodeInternal, Message: "The run was ended because the gateway could not keep its next step."})
}

// ExhaustMemory lets a run fail with [CodeExhaustedMemory], as [Run.GiveUp] does.
func (r *Run) ExhaustMemory(at time.Time) Step {
	return r.failWith(at, Failure{Code: CodeExhaustedMemory, Message: "The gateway ended twice while it worked on the run, the second time on this run alone. " +
		"The run takes more memory than there is. Pass less data from node to node."})
}

// ExceedStorage lets a run fail with [CodeStorageExceeded], as [Run.GiveUp] does.
func (r *Run) ExceedStorage(at time.Time) Step {
	return r.failWith(at, Failure{Code: CodeStorageExceeded, Message: "The tenant keeps as many bytes of runs as it may: there is no room for the items of a loop. " +
		"Retry the run when old runs are gone, or ask for more storage."})
}

func (r *Run) failWith(at time.Time, f Failure) Step {
	m := r.machineWithoutPlan(at)
	if !m.s.Status.Finished() {
		m.finish(StatusFailed, &f, "")
	}
	m.conclude()
	return m.step
}

// machineWithoutPlan can do nothing but end the run.
func (r *Run) machineWithoutPlan(at time.Time) *machine {
	m := &machine{view: view{run: r}, s: &r.state, at: truncated(at), step: Step{Was: r.state.Status}}
	if m.at.Before(m.s.UpdatedAt) {
		m.at = m.s.UpdatedAt
	}
	return m
}
