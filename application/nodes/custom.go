package nodes

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Custom implements inbound.CustomNodes except the heartbeats, which [Checked] adds.
type Custom struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

// NewCustom returns the service.
func NewCustom(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Custom {
	return &Custom{work: work, clock: clock, random: random}
}

var _ inbound.CustomNodes = (*Custom)(nil)

// Create defines a node type, and makes the node secret of a tenant that has none: no
// call is ever unsigned.
func (s *Custom) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d node.CustomDraft) (made inbound.MadeCustomNode, err error) {
	if err = who.May(tenant.CreateCustomNode); err != nil {
		return made, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		made = inbound.MadeCustomNode{}
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		n, err := node.NewCustom(node.CustomID(s.random.ID(node.CustomIDPrefix)), who.Tenant(), d, now)
		if err != nil {
			return err
		}
		if err := st.CustomNodes.Insert(ctx, n); err != nil {
			return err
		}
		made.Custom = n
		if made.Secret, err = firstSecret(ctx, st, s.random, who.Tenant(), now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, made, now)
	})
	if err != nil {
		return inbound.MadeCustomNode{}, err
	}
	return made, nil
}

// Get returns a custom node.
func (s *Custom) Get(ctx context.Context, who tenant.Caller, id node.CustomID) (found inbound.CustomNode, err error) {
	if err = who.May(tenant.ReadCustomNodes); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		n, err := st.CustomNodes.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		all, err := withHealth(ctx, st, who.Tenant(), n)
		if err == nil {
			found = all[0]
		}
		return err
	})
	return found, err
}

// List returns a page of custom nodes.
func (s *Custom) List(ctx context.Context, who tenant.Caller, f node.CustomFilter, q domain.Query) (found domain.Page[inbound.CustomNode], err error) {
	if err = who.May(tenant.ReadCustomNodes); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		page, err := st.CustomNodes.List(ctx, who.Scope, f, q)
		if err != nil {
			return err
		}
		found = domain.Page[inbound.CustomNode]{Total: page.Total, Limit: page.Limit, Offset: page.Offset}
		found.Items, err = withHealth(ctx, st, who.Tenant(), page.Items...)
		return err
	})
	return found, err
}

// withHealth adds to custom nodes what is noted of the endpoints that they have now.
func withHealth(ctx context.Context, st outbound.Stores, owner tenant.ID, all ...*node.Custom) ([]inbound.CustomNode, error) {
	ids := make([]node.CustomID, len(all))
	for i, n := range all {
		ids[i] = n.ID()
	}
	noted, err := st.NodeHealth.Get(ctx, owner, ids...)
	if err != nil {
		return nil, err
	}
	ten, err := st.Tenants.Get(ctx, owner)
	if err != nil {
		return nil, err
	}
	shared := ten.Settings().CustomNodeEndpoint
	found := make([]inbound.CustomNode, len(all))
	for i, n := range all {
		found[i] = inbound.CustomNode{Custom: n, Health: noted[n.ID()].Of(n.EndpointOr(shared))}
	}
	return found, nil
}

// Update changes what the patch names.
func (s *Custom) Update(ctx context.Context, who tenant.Caller, id node.CustomID, p node.CustomPatch) (changed inbound.CustomNode, err error) {
	if err = who.May(tenant.ChangeCustomNode); err != nil {
		return changed, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		n, err := st.CustomNodes.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := n.Revise(p, s.clock.Now()); err != nil {
			return err
		}
		if err := st.CustomNodes.Update(ctx, n); err != nil {
			return err
		}
		all, err := withHealth(ctx, st, who.Tenant(), n)
		if err == nil {
			changed = all[0]
		}
		return err
	})
	if err != nil {
		return inbound.CustomNode{}, err
	}
	return changed, nil
}

// Delete removes a custom node.
func (s *Custom) Delete(ctx context.Context, who tenant.Caller, id node.CustomID) error {
	if err := who.May(tenant.DeleteCustomNode); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.CustomNodes.Delete(ctx, who.Scope, id)
	})
}
