package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxPaused bounds how many paused runs of an entity one event looks at.
const maxPaused = 1000

// Ingest brings an event to the runs that wait for it, and, where it resumes none, to
// the triggers.
func (f *Firing) Ingest(ctx context.Context, who tenant.Caller, once domain.Once, c run.IngestCall) (in run.Ingested, err error) {
	if err = who.May(tenant.FireTrigger); err != nil {
		return in, err
	}
	if err = c.Check(); err != nil {
		return in, err
	}
	s := f.newShot(who, once, c.Call, run.CauseIngest)
	known := make(planSet)
	unit := func(ctx context.Context, st outbound.Stores) error {
		if in, err = s.resumeWaiting(ctx, st, c, known); err != nil {
			return err
		}
		if len(in.Resumed) == 0 {
			if err := s.startListening(ctx, st, c.EventCall); err != nil {
				return err
			}
			in.Triggered = s.fired
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, in, s.now)
	}
	return in, f.withPlans(ctx, who.Tenant, known, func() error { return s.fire(ctx, unit) })
}

// planSet holds the plans that a unit of work may use. A unit cannot make them, since
// that takes one of its own. A version that is gone has none.
type planSet map[workflow.VersionID]*run.Plan

// lacks lists the versions of the runs that the call may resume and that have no plan
// yet.
func (known planSet) lacks(runs []*run.Run, c run.IngestCall) (open []workflow.VersionID) {
	for _, r := range runs {
		if _, ok := known[r.Version()]; !ok && c.Takes(r) && !slices.Contains(open, r.Version()) {
			open = append(open, r.Version())
		}
	}
	return open
}

// versionGone is why a run cannot go on whose version was deleted.
var versionGone = domain.Fail(domain.Conflict, run.SkipNotPaused, "The version that the run executes was deleted.")

// unplanned is returned by a unit that met versions whose plans it does not have.
type unplanned struct{ versions []workflow.VersionID }

func (*unplanned) Error() string { return "there is no plan for a version yet" }

// maxPlannings bounds how often a unit may meet further versions.
const maxPlannings = 5

// withPlans does something again and again until it has met no version without a plan.
func (f *Firing) withPlans(ctx context.Context, owner tenant.ID, known planSet, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		var open *unplanned
		if !errors.As(err, &open) {
			return err
		}
		if n == maxPlannings {
			busy := domain.Fail(domain.Unavailable, "runs_changing", "The runs keep changing. Try again in a second.")
			busy.RetryAfter = time.Second
			return busy
		}
		for _, version := range open.versions {
			if known[version], err = f.plans.of(ctx, owner, version); err != nil && !errors.Is(err, domain.NotFound) {
				return err
			}
		}
	}
}

// resumeWaiting brings the event to the runs about the entity of which a node waits, the
// oldest first. Other nodes of theirs may still work: the event is not sent again.
// An entity that the call does not name has none.
func (s *shot) resumeWaiting(ctx context.Context, st outbound.Stores, c run.IngestCall, known planSet) (in run.Ingested, err error) {
	var paused []*run.Run
	if entity, named := c.EntityID(); named {
		if paused, err = st.Runs.Runs.Underway(ctx, s.who.Tenant, entity, maxPaused); err != nil {
			return in, err
		}
		paused = slices.DeleteFunc(paused, func(r *run.Run) bool { return r.Status() == run.StatusRunning && !r.Waits() })
	}
	if open := known.lacks(paused, c); len(open) > 0 {
		return in, &unplanned{open}
	}
	for i, id := range c.Options.Runs {
		if !slices.Contains(c.Options.Runs[:i], id) && !slices.ContainsFunc(paused, func(r *run.Run) bool { return r.ID() == id }) {
			in.Skipped = append(in.Skipped, run.Skip{Run: id, Reason: run.SkipNotPaused})
		}
	}
	if len(paused) == 0 {
		return in, nil
	}
	at, err := st.Runs.Queue.Now(ctx)
	if err != nil {
		return in, err
	}
	for _, r := range paused {
		if !c.Takes(r) {
			in.Skipped = append(in.Skipped, run.Skip{Run: r.ID(), Reason: run.SkipFilteredOut})
			continue
		}
		if len(in.Resumed) > 0 && !c.Options.All {
			continue // it goes on waiting, for the next event
		}
		reason, err := s.offer(ctx, st, r, known[r.Version()], at, run.EventArrived{Event: c.Event, Data: c.Payload()})
		switch {
		case err != nil:
			return in, err
		case reason != "":
			in.Skipped = append(in.Skipped, run.Skip{Run: r.ID(), Reason: reason})
		default:
			in.Resumed = append(in.Resumed, run.ResumedRun{Run: r.ID(), Entity: r.Entity(), Version: r.Version()})
		}
	}
	return in, nil
}

// offer brings an event to one run and records what comes of it. The reason says why it
// was not resumed.
func (s *shot) offer(ctx context.Context, st outbound.Stores, r *run.Run, plan *run.Plan, at time.Time, event run.EventArrived) (reason string, err error) {
	from := r.Seq()
	step, err := s.advance(event, versionGone)(r, plan, at)
	if err != nil {
		return "", err
	}
	if step.Changed() {
		s.changed = append(s.changed, r.ID())
		if err := record(ctx, st, s.random, step, outbound.RunStep{Run: r, From: from}); err != nil {
			return "", err
		}
	}
	switch refused := step.Refused; {
	case refused == nil:
		return "", nil
	case refused.Code == run.SkipExpired, refused.Code == run.SkipNotPaused:
		return refused.Code, nil
	default: // it waits for another event, or for another answer than what came
		return run.SkipWrongEvent, nil
	}
}
