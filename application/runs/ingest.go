package runs

import (
	"cmp"
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
	waited := f.computing.do(ctx, who.Tenant, f.computing.most(), func() { err = f.ingest(ctx, s, known, unit) })
	return in, cmp.Or(waited, err)
}

// ingest carries the unit out that resumes runs or starts some.
func (f *Firing) ingest(ctx context.Context, s *shot, known planSet, unit func(context.Context, outbound.Stores) error) error {
	return f.withPlans(ctx, s.who.Tenant, known, func() error {
		err := s.fire(ctx, unit)
		var open *unread
		if !errors.As(err, &open) {
			return err
		}
		s.learn(ctx, open.entity)
		return s.fire(ctx, unit)
	})
}

// planSet holds the plans that a unit of work may use. A unit cannot make them, since
// that takes one of its own. A version that is gone has none.
type planSet map[workflow.VersionID]*run.Plan

// lacks lists the versions of runs that have no plan yet.
func (known planSet) lacks(of []run.Awaiting) (open []workflow.VersionID) {
	for _, a := range of {
		if _, ok := known[a.Version]; !ok && !slices.Contains(open, a.Version) {
			open = append(open, a.Version)
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
