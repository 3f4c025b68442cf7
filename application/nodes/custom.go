package nodes

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Custom implements inbound.CustomNodes.
type Custom struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.CustomNodes = (*Custom)(nil)

// NewCustom returns the service.
func NewCustom(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Custom {
	return &Custom{work: work, clock: clock, random: random}
}

// Create defines a node type.
func (s *Custom) Create(ctx context.Context, who tenant.Caller, once domain.Once, d node.CustomDraft) (made *node.Custom, err error) {
	if err = who.May(tenant.CreateCustomNode); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
			return err
		}
		if made, err = node.NewCustom(node.CustomID(s.random.ID(node.CustomIDPrefix)), who.Tenant, d, now); err != nil {
			return err
		}
		if err := st.CustomNodes.Insert(ctx, made); err != nil {
			return err
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, made, now)
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Get returns a custom node.
func (s *Custom) Get(ctx context.Context, who tenant.Caller, id node.CustomID) (found *node.Custom, err error) {
	if err = who.May(tenant.ReadCustomNodes); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.CustomNodes.Get(ctx, who.Tenant, id)
		return err
	})
	return found, err
}

// List returns a page of custom nodes.
func (s *Custom) List(ctx context.Context, who tenant.Caller, f node.CustomFilter, q domain.Query) (found domain.Page[*node.Custom], err error) {
	if err = who.May(tenant.ReadCustomNodes); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.CustomNodes.List(ctx, who.Tenant, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Custom) Update(ctx context.Context, who tenant.Caller, id node.CustomID, p node.CustomPatch) (changed *node.Custom, err error) {
	if err = who.May(tenant.ChangeCustomNode); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if changed, err = st.CustomNodes.Get(ctx, who.Tenant, id); err != nil {
			return err
		}
		if err := changed.Revise(p, s.clock.Now()); err != nil {
			return err
		}
		return st.CustomNodes.Update(ctx, changed)
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// Delete removes a custom node.
func (s *Custom) Delete(ctx context.Context, who tenant.Caller, id node.CustomID) error {
	if err := who.May(tenant.DeleteCustomNode); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.CustomNodes.Delete(ctx, who.Tenant, id)
	})
}
