package usage

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.UsageVerification = (*Service)(nil)

// Verify recounts the tenants one after the other, each as of one instant, so that it can be done while others work.
func (s *Service) Verify(ctx context.Context, only tenant.ID, found func(of tenant.ID, differences []usage.Difference) error) error {
	page := domain.Query{Sorting: domain.Sorting{Field: "createdAt", Ascending: true}}
	for {
		var tenants domain.Page[*tenant.Tenant]
		err := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			tenants, err = st.Tenants.List(ctx, tenant.Filter{ID: only}, page)
			return err
		})
		if err != nil {
			return err
		}
		if only != "" && tenants.Total == 0 {
			return domain.Fail(domain.NotFound, "tenant_not_found", "There is no such tenant.")
		}
		for _, ten := range tenants.Items {
			differences, err := s.verify(ctx, ten.ID())
			if err != nil {
				return err
			}
			if err := found(ten.ID(), differences); err != nil {
				return err
			}
		}
		if !tenants.HasMore() {
			return nil
		}
		if page.PageRequest, err = domain.NewPageRequest(domain.DefaultPageLimit, tenants.Offset+len(tenants.Items)); err != nil {
			return err
		}
	}
}

func (s *Service) verify(ctx context.Context, of tenant.ID) (differences []usage.Difference, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		since, err := st.Usage.Recount.Since(ctx)
		if err != nil {
			return err
		}
		counted, err := st.Usage.Recount.Counted(ctx, of)
		if err != nil {
			return err
		}
		recorded, err := st.Usage.Recount.Recorded(ctx, of)
		if err != nil {
			return err
		}
		differences = usage.Compare(of, since, counted, recorded)
		kept, err := st.Usage.Log.Kept(ctx, of)
		if err != nil {
			return err
		}
		bytes, err := st.Usage.Recount.RecordedBytes(ctx, of)
		if err == nil && bytes != kept {
			differences = append(differences, usage.Difference{Tenant: of, Name: "bytes_kept", Counted: kept, Recorded: bytes})
		}
		return err
	})
	return differences, err
}
