package firing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Ingest brings an event to the runs that wait for it, and, where it resumes none, to
// the triggers.
func (f *Service) Ingest(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.IngestCall) (in run.Ingested, err error) {
	if err = who.May(tenant.FireTrigger); err != nil {
		return in, err
	}
	if err = c.Check(); err != nil {
		return in, err
	}
	in, err = f.newRequest(who, idempotency, c.Call, run.CauseIngest).ingest(ctx, c, "")
	f.count(who.Tenant(), err, in.Triggered...)
	return in, err
}

// ingest does so for the trigger of a hook as well, where there is one.
func (s *startRequest) ingest(ctx context.Context, c run.IngestCall, own trigger.ID) (in run.Ingested, err error) {
	f, who, idempotency := s.service, s.who, s.idempotency
	known := make(planSet)
	all := &fanOut{request: s, call: c.EventCall, own: own, outcome: func(fired []run.Fired) any {
		in.Triggered = fired
		return in
	}}
	first := func(ctx context.Context, st outbound.Stores) (fanState, error) {
		in = run.Ingested{}
		begun, err := all.hasBegun(ctx, st)
		if err != nil {
			return fanState{}, err
		}
		if !begun { // else it has resumed none, and started some of the runs
			if in, err = s.resumeWaiting(ctx, st, c, known); err != nil {
				return fanState{}, err
			}
		}
		if len(in.Resumed) == 0 {
			return all.first(ctx, st)
		}
		if err := s.delivered(ctx, st, resumedOf(in)...); err != nil {
			return fanState{}, err
		}
		return fanState{}, st.Idempotency.Record(ctx, who.Tenant(), idempotency, in, s.now)
	}
	unit := func() error { return all.unit(ctx, first) }
	// Most events resume nothing. Where one does, the unit begins again with memory for it.
	if err = f.withPlans(ctx, who.Tenant(), known, unit); errors.Is(err, errNeedsMemory) {
		s.memoryReserved = true
		waited := f.computing.Do(ctx, who.Tenant(), f.computing.Most(), func() { err = f.withPlans(ctx, who.Tenant(), known, unit) })
		err = cmp.Or(waited, err)
	}
	if err == nil {
		err = all.startRemaining(ctx)
	}
	return in, err
}

func resumedOf(in run.Ingested) (ids []run.ID) {
	for _, one := range in.Resumed {
		ids = append(ids, one.Run)
	}
	return ids
}

// errNeedsMemory is returned by a unit that is about to continue runs without memory for it.
var errNeedsMemory = errors.New("there is no memory reserved to continue runs")

// planSet holds the plans that a unit of work may use. A unit cannot make them, since
// that takes one of its own. A version that is gone has none.
type planSet map[run.Source]*run.Plan

// lacks lists the versions of runs that have no plan yet.
func (known planSet) lacks(of []run.Awaiting) (open []run.Source) {
	for _, a := range of {
		if _, ok := known[a.Source]; !ok && !slices.Contains(open, a.Source) {
			open = append(open, a.Source)
		}
	}
	return open
}

// versionGone is why a run cannot go on whose version was deleted.
var versionGone = domain.Fail(domain.Conflict, run.SkipNotPaused, "The version that the run executes was deleted.")

// errPlansMissing is returned by a unit that met versions whose plans it does not have.
type errPlansMissing struct{ sources []run.Source }

func (*errPlansMissing) Error() string { return "there is no plan for a version yet" }

// maxPlanRounds bounds how often a unit may meet further versions.
const maxPlanRounds = 5

// withPlans does something again and again until it has met no version without a plan.
func (f *Service) withPlans(ctx context.Context, owner tenant.ID, known planSet, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		var open *errPlansMissing
		if !errors.As(err, &open) {
			return err
		}
		if n == maxPlanRounds {
			busy := domain.Fail(domain.Unavailable, "runs_changing", "The runs keep changing. Try again in a second.")
			busy.RetryAfter = time.Second
			return busy
		}
		for _, source := range open.sources {
			if known[source], err = f.plans.Of(ctx, owner, source); err != nil && !errors.Is(err, domain.NotFound) {
				return err
			}
		}
	}
}
