package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Publish makes a version the only active one of its workflow, if nothing stands against
// it. The version is checked before the unit of work that publishes it, which others may
// have to wait for: a large graph takes half a second. A version that was changed in
// between is checked again. The event is part of the same unit.
func (s *Versions) Publish(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, id workflow.VersionID) (published inbound.CheckedVersion, err error) {
	if err = who.May(tenant.PublishVersion); err != nil {
		return published, err
	}
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant(), func(reserve func(*workflow.Version) error) error {
		return retryStale(func() error {
			wasActive := false
			ver, registry, failure := s.check(ctx, who, id, reserve, func(ver *workflow.Version, env workflow.Environment) error {
				wasActive = ver.Active()
				return ver.Publish(env, now)
			})
			if isMemoryNeeded(failure) {
				return failure
			}
			return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				if err := st.Outcomes.Claim(ctx, who.Tenant(), once, now); err != nil {
					return err
				}
				if failure != nil {
					return failure
				}
				if !wasActive {
					if err := s.activate(ctx, st, who, ver); err != nil {
						return err
					}
				}
				published = against(registry, ver)
				return st.Outcomes.Keep(ctx, who.Tenant(), once, published, now)
			})
		})
	})
	return published, err
}

// activate stores a version as the active one, once all processes know its node types. The workflow is held first, so that of two
// versions that are published at the same time one becomes active after the other.
func (s *Versions) activate(ctx context.Context, st outbound.Stores, who tenant.Caller, ver *workflow.Version) error {
	if _, err := st.Workflows.Get(ctx, who.Scope, ver.Workflow()); err != nil {
		return err
	}
	if err := st.Processes.Require(ctx, ver.Level()); err != nil {
		return err
	}
	if err := st.Versions.Update(ctx, ver); err != nil {
		return err
	}
	return st.Webhooks.Events.Append(ctx, event.NewWorkflowPublished(event.ID(s.random.ID(event.IDPrefix)), ver))
}

// check reads a version and what it is checked against, and lets do check it once there
// is memory for that.
func (s *Versions) check(ctx context.Context, who tenant.Caller, id workflow.VersionID, reserve func(*workflow.Version) error,
	do func(*workflow.Version, workflow.Environment) error) (ver *workflow.Version, registry node.Registry, err error) {
	var env workflow.Environment
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if ver, err = st.Versions.Get(ctx, who.Scope, id); err == nil {
			env, err = s.environment(ctx, st, who, id)
		}
		return err
	})
	if err == nil {
		err = reserve(ver)
	}
	if err == nil {
		err = do(ver, env)
	}
	return ver, env.Registry, err
}

// maxStale is how often something is done again because a record was changed in between.
const maxStale = 4

func retryStale(do func() error) (err error) {
	for range maxStale {
		var e *domain.Error
		if err = do(); !errors.As(err, &e) || e.Code != "stale_revision" {
			return err
		}
	}
	return err
}

// Validate returns what stands against publishing a version. It writes nothing but
// the outcome that an idempotency key asks for.
func (s *Versions) Validate(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, id workflow.VersionID) (findings []workflow.Finding, err error) {
	if err = who.May(tenant.ValidateVersion); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.reserved(ctx, who.Tenant(), func(reserve func(*workflow.Version) error) error {
		_, _, failure := s.check(ctx, who, id, reserve, func(ver *workflow.Version, env workflow.Environment) error {
			findings = workflow.Check(ver.Graph(), env)
			return nil
		})
		if isMemoryNeeded(failure) || !once.Wanted() {
			return failure
		}
		return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			if err := st.Outcomes.Claim(ctx, who.Tenant(), once, now); err != nil {
				return err
			}
			if failure != nil {
				return failure
			}
			return st.Outcomes.Keep(ctx, who.Tenant(), once, findings, now)
		})
	})
	return findings, err
}

// environment is what a version is checked against.
func (s *Versions) environment(ctx context.Context, st outbound.Stores, who tenant.Caller, id workflow.VersionID) (workflow.Environment, error) {
	registry, err := registryOf(ctx, st, who)
	if err != nil {
		return workflow.Environment{}, err
	}
	env := workflow.Environment{Registry: registry, Expressions: s.expressions}
	attached, err := st.Triggers.OfVersion(ctx, who.Scope, id)
	for _, trg := range attached {
		env.Triggers = append(env.Triggers, workflow.AttachedTrigger{ID: string(trg.ID()), Name: trg.Name(), Type: string(trg.Type())})
	}
	return env, err
}
