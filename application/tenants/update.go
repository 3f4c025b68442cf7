package tenants

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, id tenant.ID, p inbound.TenantPatch) (*tenant.Tenant, error) {
	return s.change(ctx, id, func(ten *tenant.Tenant) error {
		now := s.clock.Now()
		if p.Name != nil {
			if err := ten.Rename(*p.Name, now); err != nil {
				return err
			}
		}
		if p.Language == nil && len(p.Quotas) == 0 && p.RunRetentionDays == nil {
			return nil
		}
		settings := ten.Settings()
		if p.Language != nil {
			settings.Language = *p.Language
		}
		settings.Quotas = overridden(settings, p.Quotas)
		if p.RunRetentionDays != nil {
			settings.RunRetentionDays = p.RunRetentionDays
		}
		return ten.Configure(settings, node.IsBuiltIn, now)
	})
}

// overridden returns the tenant's own quotas with the patches laid over them.
func overridden(s tenant.Settings, patches map[tenant.KeyType]inbound.QuotaPatch) map[tenant.KeyType]tenant.Quota {
	quotas := make(map[tenant.KeyType]tenant.Quota, len(patches))
	for kt, q := range s.Quotas {
		quotas[kt] = q
	}
	for kt, patch := range patches {
		q := s.Quota(kt)
		if patch.PerMinute != nil {
			q.PerMinute = *patch.PerMinute
		}
		if patch.Concurrent != nil {
			q.Concurrent = *patch.Concurrent
		}
		quotas[kt] = q
	}
	return quotas
}
