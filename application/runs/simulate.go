package runs

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Simulate runs a version on a virtual clock. It computes outside of any unit of work,
// and nothing is written but the outcome that an idempotency key asks for.
func (s *Runs) Simulate(ctx context.Context, who tenant.Caller, once domain.Once, id workflow.VersionID, c run.SimulationCall) (done inbound.Simulated, err error) {
	if err = who.May(tenant.SimulateVersion); err != nil {
		return done, err
	}
	if err = c.Check(); err != nil {
		return done, err
	}
	now := s.clock.Now()
	subject, err := s.subject(ctx, who.Tenant, once, id, c.Trigger, now)
	if err != nil {
		return done, err
	}
	registry, err := s.directory.Registry(ctx, who.Tenant)
	if err != nil {
		return done, err
	}
	plan := run.NewPlan(id, subject.version.Graph(), registry, s.compiler)
	at := now
	if c.At != nil {
		at = *c.At
	}
	key, _ := s.dedupeKeyOf(c.Call, once)
	trace, err := run.Simulate(plan, run.ID(s.random.ID(run.IDPrefix)), run.Start{
		Tenant: who.Tenant, SubTenant: subject.version.SubTenant(), Workflow: subject.version.Workflow(), Version: id, Trigger: subject.trg,
		Entity: s.entityOf(c.Call), DedupeKey: key, Cause: subject.cause(), Payload: c.Payload(),
	}, at, c.Answers, ctx.Err)
	if err != nil {
		return done, err
	}
	done = inbound.Simulated{Trace: trace}
	if done.Inputs, err = trace.Run.Inputs(plan); err != nil || !once.Wanted() {
		return done, err
	}
	return done, s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
			return err
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, done, now)
	})
}

// simulated is what a simulation is of.
type simulated struct {
	version *workflow.Version
	trg     *trigger.Trigger // nil for a start by hand
}

func (s simulated) cause() run.Cause {
	switch {
	case s.trg == nil:
		return run.CauseManual
	case s.trg.Type() == trigger.Scheduled:
		return run.CauseSchedule
	}
	return run.CauseWebhook
}

// subject reads the version and the trigger, unless the command took effect before.
func (s *Runs) subject(ctx context.Context, owner tenant.ID, once domain.Once, id workflow.VersionID, by trigger.ID, now time.Time) (found simulated, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, owner, once, now); err != nil {
			return err
		}
		if found.version, err = st.Versions.Get(ctx, owner, id); err != nil || by == "" {
			return err
		}
		found.trg, err = st.Triggers.Get(ctx, owner, by)
		if errors.Is(err, domain.NotFound) || err == nil && found.trg.Version() != id {
			return run.UnknownTrigger()
		}
		return err
	})
	return found, err
}
