package workflows

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Publish makes a version the only active one of its workflow, if nothing stands
// against it. The workflow is held first, so publishing two of its versions at the
// same time makes one of them active after the other. The event that tells of it is
// part of the same unit.
func (s *Versions) Publish(ctx context.Context, who tenant.Caller, once domain.Once, id workflow.VersionID) (published inbound.CheckedVersion, err error) {
	if err = who.May(tenant.PublishVersion); err != nil {
		return published, err
	}
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant, func(reserve func(*workflow.Version) error) error {
		expressions, err := s.checkAhead(ctx, who, id, reserve)
		if err != nil {
			return err
		}
		return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
				return err
			}
			ver, err := s.holdForPublishing(ctx, st, who.Tenant, id)
			if err != nil {
				return err
			}
			if err := reserve(ver); err != nil {
				return err
			}
			if err := s.activate(ctx, st, who, ver, expressions, now); err != nil {
				return err
			}
			if published, err = checked(ctx, st, who, ver); err != nil {
				return err
			}
			return st.Outcomes.Keep(ctx, who.Tenant, once, published, now)
		})
	})
	return published, err
}

// activate checks a version and makes it the active one, unless it is already.
func (s *Versions) activate(ctx context.Context, st outbound.Stores, who tenant.Caller, ver *workflow.Version, expressions outbound.Expressions, now time.Time) error {
	if ver.Active() {
		return nil
	}
	env, err := s.environment(ctx, st, who, ver.ID(), expressions)
	if err != nil {
		return err
	}
	if err := ver.Publish(env, now); err != nil {
		return err
	}
	if err := retireActive(ctx, st, ver); err != nil {
		return err
	}
	if err := st.Versions.Update(ctx, ver); err != nil {
		return err
	}
	return st.Webhooks.Events.Append(ctx, event.NewWorkflowPublished(event.ID(s.random.ID(event.IDPrefix)), ver))
}

// holdForPublishing holds the workflow and then its version, always in that order.
func (s *Versions) holdForPublishing(ctx context.Context, st outbound.Stores, owner tenant.ID, id workflow.VersionID) (*workflow.Version, error) {
	belongs, err := st.Versions.Belongs(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if _, err := st.Workflows.Get(ctx, owner, belongs.Workflow); err != nil {
		return nil, err
	}
	return st.Versions.Get(ctx, owner, id)
}

// retireActive deactivates the version of the same workflow that was active so far.
func retireActive(ctx context.Context, st outbound.Stores, successor *workflow.Version) error {
	active := true
	found, err := st.Versions.List(ctx, successor.Tenant(), workflow.VersionFilter{Workflow: successor.Workflow(), Active: &active}, domain.Query{})
	if err != nil {
		return err
	}
	for _, ver := range found.Items {
		ver.Deactivate()
		if err := st.Versions.Update(ctx, ver); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns what stands against publishing a version. It writes nothing but
// the outcome that an idempotency key asks for.
func (s *Versions) Validate(ctx context.Context, who tenant.Caller, once domain.Once, id workflow.VersionID) (findings []workflow.Finding, err error) {
	if err = who.May(tenant.ValidateVersion); err != nil {
		return nil, err
	}
	run := s.work.View
	if once.Wanted() {
		run = s.work.Do
	}
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant, func(reserve func(*workflow.Version) error) error {
		expressions, err := s.checkAhead(ctx, who, id, reserve)
		if err != nil {
			return err
		}
		return run(ctx, func(ctx context.Context, st outbound.Stores) error {
			if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
				return err
			}
			ver, err := st.Versions.Get(ctx, who.Tenant, id)
			if err != nil {
				return err
			}
			if err := reserve(ver); err != nil {
				return err
			}
			env, err := s.environment(ctx, st, who, id, expressions)
			if err != nil {
				return err
			}
			findings = workflow.Check(ver.Graph(), env)
			return st.Outcomes.Keep(ctx, who.Tenant, once, findings, now)
		})
	})
	return findings, err
}

// environment is what a version is checked against.
func (s *Versions) environment(ctx context.Context, st outbound.Stores, who tenant.Caller, id workflow.VersionID, expressions outbound.Expressions) (workflow.Environment, error) {
	registry, err := registryOf(ctx, st, who)
	if err != nil {
		return workflow.Environment{}, err
	}
	env := workflow.Environment{Registry: registry, Expressions: expressions}
	attached, err := st.Triggers.OfVersion(ctx, who.Tenant, id)
	for _, trg := range attached {
		env.Triggers = append(env.Triggers, workflow.AttachedTrigger{ID: string(trg.ID()), Name: trg.Name(), Type: string(trg.Type())})
	}
	return env, err
}
