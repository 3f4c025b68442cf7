package runs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// changer changes runs for those who are not their workers.
type changer struct {
	work    outbound.UnitOfWork
	plans   *plans
	signals outbound.RunSignals
	clock   outbound.Clock
	random  outbound.Random
	key     run.Key

	computing computing
}

func newChanger(work outbound.UnitOfWork, directory outbound.Directory, compiler outbound.Compiler, signals outbound.RunSignals,
	clock outbound.Clock, random outbound.Random, key run.Key, budgets outbound.Budgets,
) changer {
	return changer{
		work: work, plans: newPlans(work, directory, compiler, budgets, 0), signals: signals, clock: clock, random: random, key: key,
		computing: newComputing(budgets),
	}
}

// change is what happens to a run. The plan is nil when its version is gone.
type change func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error)

// apply lets something happen to a run, by the database's clock, and records it. What
// fell due before it is recorded even when the change itself is refused. outcome is what
// the idempotency key keeps.
func (c *changer) apply(ctx context.Context, owner tenant.ID, once domain.Once, id run.ID, happens change, outcome func(*run.Run) any) (r *run.Run, err error) {
	plan, demand, err := c.planOf(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	waited := c.computing.do(ctx, owner, demand, func() { r, err = c.applyWith(ctx, plan, owner, once, id, happens, outcome) })
	return r, cmp.Or(waited, err)
}

// applyWith is apply once there is memory for it.
func (c *changer) applyWith(ctx context.Context, plan *run.Plan, owner tenant.ID, once domain.Once, id run.ID, happens change, outcome func(*run.Run) any) (r *run.Run, err error) {
	now := c.clock.Now()
	var step run.Step
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, owner, once, now); err != nil {
			return err
		}
		if r, err = st.Runs.Runs.Get(ctx, owner, id); err != nil {
			return err
		}
		at, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		from := r.Seq()
		if step, err = happens(r, plan, at); err != nil {
			return err
		}
		if step.Refused != nil && !step.Changed() {
			return step.Refused
		}
		if err := record(ctx, st, c.random, step, outbound.RunStep{Run: r, From: from}); err != nil {
			return err
		}
		if step.Refused == nil {
			err = st.Outcomes.Keep(ctx, owner, once, outcome(r), now)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.signals.Tell(id)
	if step.Refused != nil {
		return nil, step.Refused
	}
	return r, nil
}

// valuesFactor is how much memory the values of a run take, as a multiple of what is stored,
// where they are not many and small.
const valuesFactor = 16

// planOf reads which version a run executes and makes its plan, which no unit of work
// can do; nil when the version is gone. It also says how much memory it takes to move the
// run.
func (c *changer) planOf(ctx context.Context, owner tenant.ID, id run.ID) (*run.Plan, int64, error) {
	var version workflow.VersionID
	var size int64
	err := c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		version, size, err = st.Runs.Origins.Of(ctx, owner, id)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	demand := min(c.computing.most(), run.MaxComputed+valuesFactor*size) + copies*size
	plan, err := c.plans.of(ctx, owner, version)
	if errors.Is(err, domain.NotFound) {
		return nil, demand, nil
	}
	return plan, demand, err
}

// advance is a change that needs the run's version; without it the refusal stands.
func (c *changer) advance(fact run.Fact, gone *domain.Error) change {
	return c.advanceWithin(inlineSteps, fact, gone)
}

// advanceWithin is advance with a bound of what is computed at once.
func (c *changer) advanceWithin(steps int64, fact run.Fact, gone *domain.Error) change {
	return func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		if plan == nil {
			return run.Step{Refused: gone}, nil
		}
		return r.Advance(plan, run.Event{At: at, Secret: c.key.Secret(r.ID()), Fact: fact, Budget: c.computing.bounded(steps)})
	}
}
