package nodes

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Checked implements inbound.CustomNodes: what [Custom] does, and a heartbeat once it
// is committed.
type Checked struct {
	*Custom
	checks *Checks
}

var _ inbound.CustomNodes = (*Checked)(nil)

// NewChecked returns the service.
func NewChecked(custom *Custom, checks *Checks) *Checked {
	return &Checked{Custom: custom, checks: checks}
}

// Create defines a node type, and asks its endpoint whether it lives.
func (s *Checked) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d node.CustomDraft) (inbound.MadeCustomNode, error) {
	made, err := s.Custom.Create(ctx, who, idempotency, d)
	if err == nil {
		made.Health = s.checks.afterChange(ctx, made.CustomNode, func(ctx context.Context, st outbound.Stores, health node.Health) error {
			answered := made
			answered.Health = health
			return st.Idempotency.Amend(ctx, who.Tenant(), idempotency, answered)
		})
	}
	return made, err
}

// Update changes what the patch names, and asks another endpoint whether it lives.
func (s *Checked) Update(ctx context.Context, who tenant.Caller, id node.CustomID, p node.CustomPatch) (inbound.CustomNode, error) {
	changed, err := s.Custom.Update(ctx, who, id, p)
	if err == nil && p.Endpoint != nil && changed.Health.Status() == node.HealthUnknown {
		changed.Health = s.checks.afterChange(ctx, changed, func(context.Context, outbound.Stores, node.Health) error { return nil })
	}
	return changed, err
}

// afterChange asks the endpoint of a custom node whose change is committed, and notes
// what it finds. The change stands whatever comes of it, so where nothing can be found
// or noted what was known before stands too. It goes on when the client has gone. also
// is done in the unit that notes it.
func (s *Checks) afterChange(ctx context.Context, n inbound.CustomNode, also func(context.Context, outbound.Stores, node.Health) error) node.Health {
	note := func(ctx context.Context, st outbound.Stores, _ *node.Custom, health node.Health) error {
		if err := st.NodeHealth.Record(ctx, n.Tenant(), n.ID(), health); err != nil {
			return err
		}
		return also(ctx, st, health)
	}
	health, err := s.find(context.WithoutCancel(ctx), tenant.All(n.Tenant()), n.ID(), note)
	if err != nil {
		return n.Health
	}
	return health
}

// Settings implements inbound.Settings: what the next one does, and a heartbeat to the
// tenant's endpoint of custom nodes once it is another one.
type Settings struct {
	inbound.Settings
	checks *Checks
}

var _ inbound.Settings = (*Settings)(nil)

// NewSettings returns the settings that next keeps.
func NewSettings(next inbound.Settings, checks *Checks) *Settings {
	return &Settings{Settings: next, checks: checks}
}

// Update changes what the patch names, and asks the endpoint that it names whether it
// lives, on behalf of the custom nodes without one of their own.
func (s *Settings) Update(ctx context.Context, who tenant.Caller, p tenant.SettingsPatch) (tenant.Settings, error) {
	changed, err := s.Settings.Update(ctx, who, p)
	if err == nil && p.CustomNodeEndpoint != nil && changed.CustomNodeEndpoint != "" {
		s.checks.checkShared(context.WithoutCancel(ctx), who.Tenant())
	}
	return changed, err
}

// checkShared asks the tenant's endpoint, as afterChange does that of a custom node.
func (s *Checks) checkShared(ctx context.Context, owner tenant.ID) {
	var t target
	var wanted bool
	err := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if wanted, err = st.NodeHealth.HasShared(ctx, owner); err != nil || !wanted {
			return err
		}
		t, err = s.targetOf(ctx, st, owner, func(tenants string) string { return tenants })
		return err
	})
	if err != nil || !wanted {
		return
	}
	health, err := s.ask(ctx, t)
	if err != nil {
		return
	}
	_ = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { // a note that cannot be kept leaves the health unknown
		return st.NodeHealth.RecordShared(ctx, owner, health)
	})
}
