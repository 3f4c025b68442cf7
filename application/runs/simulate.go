package runs

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Simulate runs a version on a virtual clock. It computes outside of any unit of work,
// and nothing is written but the outcome that an idempotency key asks for.
func (s *Service) Simulate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c run.SimulationCall) (done inbound.Simulated, err error) {
	if err = who.May(tenant.SimulateVersion); err != nil {
		return done, err
	}
	if err = c.Check(); err != nil {
		return done, err
	}
	now := s.clock.Now()
	subject, err := s.subjectOf(ctx, who.Scope, idempotency, id, c.Trigger, now)
	if err != nil {
		return done, err
	}
	registry, err := s.directory.Registry(ctx, who.Tenant())
	if err != nil {
		return done, err
	}
	registry = registry.For(who)
	called, err := s.calledBy(ctx, subject.version)
	if err != nil {
		return done, err
	}
	at := now
	if c.At != nil {
		at = *c.At
	}
	key, _ := c.DedupeKeyOr(idempotency, s.random.ID)
	started := run.Start{
		Tenant: who.Tenant(), SubTenant: subject.version.SubTenant(), Workflow: subject.version.Workflow(), Version: id, Trigger: subject.trg,
		Entity: c.EntityOr(s.random.ID), DedupeKey: key, Cause: subject.cause(), Payload: c.Payload(),
	}
	err = s.computing.DoWithAside(ctx, who.Tenant(), s.computing.Most(), func(aside execution.Aside) (err error) {
		outside := run.Outside{Answers: c.AnswersOr(subject.version.Pinned()), Called: called, Shown: c.Shown}
		done, err = s.simulated(ctx, subject.version, registry, started, at, outside, aside)
		if who.May(tenant.ChangeVersion) != nil { // who may only read a version sees no secrets that stand in its nodes
			for i, e := range done.Effects {
				done.Effects[i].Config = workflow.ConfigWithoutSecrets(e.Config)
			}
		}
		return err
	})
	if err != nil || !idempotency.Wanted() {
		return done, err
	}
	return done, s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, done, now)
	})
}

// simulated runs a version on a virtual clock.
func (s *Service) simulated(ctx context.Context, ver *workflow.Version, types *node.Registry, started run.Start, at time.Time, outside run.Outside,
	aside execution.Aside,
) (done inbound.Simulated, err error) {
	err = s.plans.With(ctx, ver.Tenant(), run.Source{Version: ver.ID()}, ver.Graph(), types, aside, func(plan *run.Plan, aside execution.Aside) (err error) {
		outside.Stop, outside.Compute = func() error { return context.Cause(ctx) }, s.compute(ctx, aside)
		outside.Body = func(of *run.Plan, loop workflow.NodeID) *run.Plan { return s.plans.Body(of, loop, types) }
		if done.Trace, err = run.Simulate(plan, run.ID(s.random.ID(run.IDPrefix)), started, at, outside); err != nil {
			return err
		}
		if done.Inputs, err = done.Run.Inputs(plan); err == nil && done.Item != nil {
			done.ItemInputs, err = done.Item.Run.Inputs(done.Item.Plan)
		}
		return err
	})
	return done, err
}

// maxSimulatedCode is how long the code of one simulation may compute.
const maxSimulatedCode = 10 * time.Second

// compute makes the attempts at nodes that compute, within their time for all of them.
func (s *Service) compute(ctx context.Context, aside execution.Aside) func(run.Execute, int64) (run.Fact, error) {
	if s.attempts.Nodes == nil {
		return nil
	}
	left := maxSimulatedCode
	return func(e run.Execute, taken int64) (fact run.Fact, err error) {
		err = aside(execution.CallMemory+taken, func() error {
			began := time.Now()
			outcome, err := s.attempts.Nodes.Run(ctx, execution.CallOf(e))
			if left -= time.Since(began); err == nil && left < 0 {
				err = domain.Fail(domain.Invalid, "simulation_too_large",
					"The code of this simulation computes for more than %d seconds. Simulate it with smaller data.", maxSimulatedCode/time.Second)
			}
			if err != nil {
				return err
			}
			fact, err = execution.FactOf(e, outcome)
			return err
		})
		return fact, err
	}
}

// simulationSubject is what a simulation is of.
type simulationSubject struct {
	version *workflow.Version
	trg     *trigger.Trigger // nil for a start by hand
}

func (s simulationSubject) cause() run.Cause {
	switch {
	case s.trg == nil:
		return run.CauseManual
	case s.trg.Type() == trigger.Scheduled:
		return run.CauseSchedule
	}
	return run.CauseWebhook
}

// subjectOf reads the version and the trigger, unless the command took effect before.
func (s *Service) subjectOf(ctx context.Context, scope tenant.Scope, idempotency domain.IdempotencyKey, id workflow.VersionID, by trigger.ID, now time.Time) (found simulationSubject, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, scope.Tenant(), idempotency, now); err != nil {
			return err
		}
		if found.version, err = st.Versions.Get(ctx, scope, id); err != nil || by == "" {
			return err
		}
		found.trg, err = st.Triggers.Get(ctx, scope, by)
		if errors.Is(err, domain.NotFound) || err == nil && found.trg.Version() != id {
			return run.UnknownTrigger()
		}
		return err
	})
	return found, err
}
