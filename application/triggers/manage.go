package triggers

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Get returns a trigger.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id trigger.ID) (trg *trigger.Trigger, err error) {
	if err = who.May(tenant.ReadTriggers); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		trg, err = st.Triggers.Get(ctx, who.Scope, id)
		return err
	})
	return trg, err
}

// List returns a page of triggers.
func (s *Service) List(ctx context.Context, who tenant.Caller, f trigger.Filter, q domain.Query) (found domain.Page[*trigger.Trigger], err error) {
	if err = who.May(tenant.ReadTriggers); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Triggers.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// OfVersion returns a page of the triggers of one version.
func (s *Service) OfVersion(ctx context.Context, who tenant.Caller, f trigger.Filter, q domain.Query) (found domain.Page[*trigger.Trigger], err error) {
	if err = who.May(tenant.ReadTriggers); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Versions.Parent(ctx, who.Scope, f.Version); err != nil {
			return err
		}
		found, err = st.Triggers.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names. Where that decides what fires, the workflow is held
// before the trigger, as by who publishes a version: the workflow of a trigger never changes.
func (s *Service) Update(ctx context.Context, who tenant.Caller, id trigger.ID, at domain.Expected, p trigger.Patch) (trg *trigger.Trigger, err error) {
	if err = who.May(tenant.ChangeTrigger); err != nil {
		return nil, err
	}
	var of workflow.ID
	if p.Target != nil || p.Active != nil || p.Config != nil {
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Firing.Trigger(ctx, who.Scope, id)
			of = found.Workflow
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		var wf *workflow.Workflow
		if of != "" {
			if wf, err = st.Workflows.Get(ctx, who.Scope, of); err != nil && !errors.Is(err, domain.NotFound) {
				return err // with its workflow, the trigger is gone
			}
		}
		if trg, err = st.Triggers.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(trg.Revision()); err != nil {
			return err
		}
		return s.revise(ctx, st, who, wf, trg, p)
	})
	if err != nil {
		return nil, err
	}
	return trg, nil
}

// revise changes a trigger, and says so where it cannot fire any more. The workflow is that of
// the trigger; nil while nothing is changed that needs it.
func (s *Service) revise(ctx context.Context, st outbound.Stores, who tenant.Caller, wf *workflow.Workflow, trg *trigger.Trigger, p trigger.Patch) error {
	now := s.clock.Now()
	var active outbound.FiringVersion
	if p.Target != nil {
		target, err := targetOf(ctx, st, who, wf, p.Target.Version)
		if err != nil {
			return err
		}
		p.Target = &target
		if active, err = st.Firing.Version(ctx, who.Scope, wf.ID(), ""); err != nil {
			return err
		}
	}
	wasActive, from := trg.Active(), trg.Version()
	if p.Config != nil {
		p.Malformed = append(p.Malformed, trigger.CheckExpressions(*p.Config, s.language)...)
	}
	if err := trg.Revise(p, who.Settings, now); err != nil {
		return err
	}
	if err := st.Processes.Require(ctx, levelOf(trg)); err != nil {
		return err
	}
	reason := ""
	switch {
	case wasActive && !trg.Active():
		reason = event.DisabledByRequest
	case wasActive && trg.Version() != from && active.Version == from && active.WorkflowActive:
		trg.MarkLeftBehind(now)
		reason = trigger.VersionNotActive
	}
	if err := st.Triggers.Update(ctx, trg); err != nil || reason == "" {
		return err
	}
	return st.Webhooks.Events.Append(ctx, event.NewTriggerDisabled(event.ID(s.random.ID(event.IDPrefix)), trg, reason, now))
}

// targetOf looks up the version that a trigger is to be attached to.
func targetOf(ctx context.Context, st outbound.Stores, who tenant.Caller, wf *workflow.Workflow, id workflow.VersionID) (trigger.Target, error) {
	belongs, err := st.Versions.Parent(ctx, who.Scope, id)
	if err != nil && !errors.Is(err, domain.NotFound) {
		return trigger.Target{}, err
	}
	return trigger.Target{Version: id, Exists: err == nil, SameWorkflow: belongs.Workflow == wf.ID()}, nil
}

// Delete removes a trigger.
func (s *Service) Delete(ctx context.Context, who tenant.Caller, id trigger.ID, at domain.Expected) error {
	if err := who.May(tenant.DeleteTrigger); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		trg, err := st.Triggers.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(trg.Revision()); err != nil {
			return err
		}
		return st.Triggers.Delete(ctx, who.Scope, id)
	})
}
