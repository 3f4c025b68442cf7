package worker

import (
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// held is what a run has done and nobody has recorded yet. Who takes the run over does it again, with
// the facts that the engine kept of it.
type held struct {
	step  run.Step // all of it as one; the attempts are being made
	from  int64    // how far the run is as it is stored
	until time.Time
	lines []byte // the facts of all of it, as an engine keeps them; nil where there is none, or they are too much for it
	kept  bool   // the engine does keep some
}

func (h *held) isEmpty() bool { return !h.step.Changed() }

// hold keeps a step until what it asks for has been computed, where that is for a short time, or while the
// engine keeps its fact. The process must not be able to end for it: a run that might be the reason has to be
// found at the attempt.
func (j *job) hold(step run.Step, from int64, fact run.PastFact) bool {
	isKept := !step.MayWait()
	whole, since := j.withHeld(step, from)
	if (isKept || j.held.kept) && !j.mayKeep(whole) || j.recordsAll || j.isolated || j.isOverdue() || j.session.stopping.Err() != nil {
		return false
	}
	j.updateSize()
	if !j.needsNoIsolation() {
		return false
	}
	lines := j.linesWith(fact)
	if isKept && !j.keep(lines) || j.held.kept && lines == nil {
		return false
	}
	switch {
	case isKept && !j.held.kept:
		j.held.until, j.held.kept = j.now().Add(keptPeriod), true
	case j.held.isEmpty():
		j.held.until = j.now().Add(j.session.worker.opts.Hold)
	}
	j.held.step, j.held.from = whole, since
	j.held.step.Execute = nil
	j.held.lines = lines
	return true
}

// withHeld is a step with what is held before it, and how far the run was before that.
func (j *job) withHeld(step run.Step, from int64) (whole run.Step, since int64) {
	if j.held.isEmpty() {
		return step, from
	}
	return j.held.step.Then(step), j.held.from
}

// isOverdue says whether what is held has been held for long enough.
func (j *job) isOverdue() bool { return !j.held.isEmpty() && !j.now().Before(j.held.until) }

// wakeAt is when something is due by itself.
func (j *job) wakeAt() *time.Time {
	at := j.run.WakeAt()
	if j.held.isEmpty() || at != nil && at.Before(j.held.until) {
		return at
	}
	return domain.CopyOf(&j.held.until)
}

// recordHeld records what is held.
func (j *job) recordHeld() jobOutcome {
	if j.held.isEmpty() {
		return jobContinue
	}
	j.held.until = j.now()
	return j.apply(run.TimeReached{})
}

// startStep starts what a step asks for.
func (j *job) startStep(step run.Step) jobOutcome {
	j.interruptStale()
	j.enqueue(step.Execute)
	return j.catchUp()
}

// replayHeld reads the run again. What was held is made once more from there, and each step of it recorded.
func (j *job) replayHeld() jobOutcome {
	lost := j.held
	if !lost.kept {
		if end := j.reload(); end != jobContinue || lost.isEmpty() {
			return end
		}
		j.recordsAll = true
		return j.resume()
	}
	if end := j.readAnew(); end != jobContinue { // an attempt may be one that the run asks for once it has the facts
		return end
	}
	j.recordsAll = true
	return j.replay(lost)
}

// maxReplayed is how often the run goes on computing after one of the facts that it is given again.
const maxReplayed = 16

// replay gives the run facts that it had taken before. What comes of them is to be recorded next. Those
// that it does not wait for any more change nothing.
func (j *job) replay(lost held) jobOutcome {
	facts, err := run.DecodeFacts(lost.lines)
	if err != nil {
		j.session.report(fmt.Errorf("run %s of %s: what the engine kept: %w", j.lease.Run, j.lease.Tenant, err)) // those attempts are made again
	}
	j.held = held{lines: lost.lines, kept: true, until: j.now()}
	for _, fact := range facts {
		for n := 0; n == 0 || j.run.More() && n < maxReplayed; n++ {
			from := j.run.Seq()
			step, err := j.advance(fact)
			switch {
			case j.ctx.Err() != nil && err != nil:
				return j.stopped()
			case err != nil:
				return j.fail(err)
			}
			step.Execute = nil // what came of them may be among the facts; catchUp makes the others
			j.held.step, j.held.from = j.withHeld(step, from)
			fact.Fact = run.TimeReached{}
		}
	}
	if j.held.isEmpty() {
		j.held = held{}
	}
	j.needsCatchUp = true
	return jobContinue
}

// resume goes on with a run as it was read.
func (j *job) resume() jobOutcome {
	if j.run.Status() == run.StatusPending {
		return j.apply(run.Started{})
	}
	j.needsCatchUp = true // attempts may be outstanding that nobody makes
	return j.apply(run.TimeReached{})
}
