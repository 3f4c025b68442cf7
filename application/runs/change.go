package runs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// changeFunc is what happens to a run. The plan is nil when its version is gone.
type changeFunc func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error)

// apply lets something happen to a run, by the database's clock, and records it. What
// fell due before it is recorded even when the change itself is refused. outcome is what
// the idempotency key keeps.
func (s *Service) apply(ctx context.Context, scope tenant.Scope, idempotency domain.IdempotencyKey, id run.ID, happens changeFunc, outcome func(*run.Run) any) (r *run.Run, err error) {
	outline, err := s.recordedOutline(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	plan, demand, err := s.planFrom(ctx, scope, outline)
	if err != nil {
		return nil, err
	}
	waited := s.computing.Do(ctx, scope.Tenant(), demand, func() { r, err = s.applyWith(ctx, plan, scope, idempotency, id, happens, outcome) })
	return r, cmp.Or(waited, err)
}

// applyWith is apply once there is memory for it.
func (s *Service) applyWith(ctx context.Context, plan *run.Plan, scope tenant.Scope, idempotency domain.IdempotencyKey, id run.ID, happens changeFunc, outcome func(*run.Run) any) (r *run.Run, err error) {
	now := s.clock.Now()
	var step run.Step
	var roused []run.ID
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, scope.Tenant(), idempotency, now); err != nil {
			return err
		}
		if r, err = st.Runs.Runs.Get(ctx, scope, id); err != nil {
			return err
		}
		at, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		from, ended := r.Seq(), r.Status().Finished()
		if step, err = happens(r, plan, at); err != nil {
			return err
		}
		if step.Refused != nil && !step.Changed() {
			return step.Refused
		}
		if ended && step.Refused == nil {
			if err := execution.CheckLane(ctx, st, r); err != nil {
				return err
			}
			if err := s.allowance.In(st).AdmitAgain(ctx, r.Tenant()); err != nil {
				return err
			}
		}
		roused, err = execution.Record(ctx, st, s.random, execution.Step{Made: step, Written: outbound.RunStep{Run: r, From: from}})
		if err != nil {
			return err
		}
		if step.Refused == nil {
			err = st.Idempotency.Record(ctx, scope.Tenant(), idempotency, outcome(r), now)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.signals.Notify(append(roused, id)...)
	if step.Refused != nil {
		return nil, step.Refused
	}
	return r, nil
}

// planOf reads what a run executes and makes its plan, which no unit of work
// can do; nil when the version is gone. It also says how much memory it takes to move the
// run.
func (s *Service) planOf(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Plan, int64, error) {
	outline, err := s.outlineOf(ctx, scope, id)
	if err != nil {
		return nil, 0, err
	}
	return s.planFrom(ctx, scope, outline)
}

func (s *Service) outlineOf(ctx context.Context, scope tenant.Scope, id run.ID) (outline outbound.RunOutline, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		outline, err = st.Runs.Origins.Of(ctx, scope, id)
		return err
	})
	return outline, err
}

func (s *Service) planFrom(ctx context.Context, scope tenant.Scope, outline outbound.RunOutline) (*run.Plan, int64, error) {
	demand := s.computing.Demand(outline.Size)
	plan, err := s.plans.Of(ctx, scope.Tenant(), outline.Source)
	if errors.Is(err, domain.NotFound) {
		return nil, demand, nil
	}
	return plan, demand, err
}

// advance is a change that needs the run's version; without it the refusal stands.
func (s *Service) advance(fact run.Fact, gone *domain.Error) changeFunc {
	return func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		if plan == nil {
			return run.Step{Refused: gone}, nil
		}
		return r.Advance(plan, s.event(r, at, fact))
	}
}

// event is a fact about a run, of which a little is computed at once.
func (s *Service) event(r *run.Run, at time.Time, fact run.Fact) run.Event {
	return run.Event{At: at, Secret: s.key.Secret(r.ID()), Fact: fact, Budget: s.computing.StepBudget(execution.InlineSteps)}
}
