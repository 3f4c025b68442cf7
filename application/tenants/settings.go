package tenants

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Settings implements inbound.Settings.
type Settings struct {
	work  outbound.UnitOfWork
	clock outbound.Clock
}

var _ inbound.Settings = (*Settings)(nil)

// NewSettings returns the service.
func NewSettings(work outbound.UnitOfWork, clock outbound.Clock) *Settings {
	return &Settings{work: work, clock: clock}
}

// Get returns the settings of the caller's tenant.
func (s *Settings) Get(ctx context.Context, who tenant.Caller) (found tenant.Settings, err error) {
	if err = who.May(tenant.ReadSettings); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, who.Tenant())
		if err == nil {
			found = ten.Settings()
		}
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Settings) Update(ctx context.Context, who tenant.Caller, p tenant.SettingsPatch) (changed tenant.Settings, err error) {
	if err = who.May(tenant.ChangeSettings); err != nil {
		return changed, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, who.Tenant())
		if err != nil {
			return err
		}
		if err := ten.ReviseSettings(p, node.IsBuiltIn, s.clock.Now()); err != nil {
			return err
		}
		changed = ten.Settings()
		return st.Tenants.Update(ctx, ten)
	})
	return changed, err
}
