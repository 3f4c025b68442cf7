package triggers

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
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
		if _, err := st.Versions.Belongs(ctx, who.Scope, f.Version); err != nil {
			return err
		}
		found, err = st.Triggers.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, who tenant.Caller, id trigger.ID, at domain.Expected, p trigger.Patch) (trg *trigger.Trigger, err error) {
	if err = who.May(tenant.ChangeTrigger); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if trg, err = st.Triggers.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(trg.Revision()); err != nil {
			return err
		}
		active, now := trg.Active(), s.clock.Now()
		if err := trg.Revise(p, who.Settings, now); err != nil {
			return err
		}
		if err := st.Triggers.Update(ctx, trg); err != nil || !active || trg.Active() {
			return err
		}
		disabled := event.NewTriggerDisabled(event.ID(s.random.ID(event.IDPrefix)), trg, event.DisabledByRequest, now)
		return st.Webhooks.Events.Append(ctx, disabled)
	})
	if err != nil {
		return nil, err
	}
	return trg, nil
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
