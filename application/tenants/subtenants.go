package tenants

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// SubTenants implements inbound.SubTenants.
type SubTenants struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.SubTenants = (*SubTenants)(nil)

// NewSubTenants returns the service.
func NewSubTenants(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *SubTenants {
	return &SubTenants{work: work, clock: clock, random: random}
}

// Create registers a segment.
func (s *SubTenants) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.SubTenantDraft) (sub *tenant.SubTenant, err error) {
	if err = who.May(tenant.CreateSubTenant); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		id := s.random.ID(tenant.RegistrationIDPrefix)
		if d.SubTenant = who.Scope.OrOwn(d.SubTenant); d.SubTenant == "" {
			d.SubTenant = tenant.SubTenantID(id)
		}
		if sub, err = tenant.NewSubTenant(tenant.RegistrationID(id), who.Tenant(), d, now); err != nil {
			return err
		}
		if err := who.Scope.Check(sub.SubTenant()); err != nil {
			return err
		}
		if err := st.SubTenants.Insert(ctx, sub); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, sub, now)
	})
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// Get returns a registration.
func (s *SubTenants) Get(ctx context.Context, who tenant.Caller, id tenant.RegistrationID) (*tenant.SubTenant, error) {
	return s.one(ctx, who, func(ctx context.Context, r outbound.SubTenantRepository) (*tenant.SubTenant, error) {
		return r.Get(ctx, who.Scope, id)
	})
}

// Find returns the registration of a segment.
func (s *SubTenants) Find(ctx context.Context, who tenant.Caller, segment tenant.SubTenantID) (*tenant.SubTenant, error) {
	return s.one(ctx, who, func(ctx context.Context, r outbound.SubTenantRepository) (*tenant.SubTenant, error) {
		return r.Find(ctx, who.Scope, segment)
	})
}

func (s *SubTenants) one(ctx context.Context, who tenant.Caller, read func(context.Context, outbound.SubTenantRepository) (*tenant.SubTenant, error)) (sub *tenant.SubTenant, err error) {
	if err = who.May(tenant.ReadSubTenants); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		sub, err = read(ctx, st.SubTenants)
		return err
	})
	return sub, err
}

// List returns a page of registrations.
func (s *SubTenants) List(ctx context.Context, who tenant.Caller, f tenant.SubTenantFilter, q domain.Query) (found domain.Page[*tenant.SubTenant], err error) {
	if err = who.May(tenant.ReadSubTenants); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.SubTenants.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Combined lists every segment, registered or not.
func (s *SubTenants) Combined(ctx context.Context, who tenant.Caller, m domain.MetadataFilter, page domain.PageRequest) (found domain.Page[tenant.SeenSubTenant], err error) {
	if err = who.May(tenant.ReadSubTenants); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.SubTenantDirectory.List(ctx, who.Scope, m, page)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *SubTenants) Update(ctx context.Context, who tenant.Caller, id tenant.RegistrationID, at domain.Expected, p tenant.SubTenantPatch) (sub *tenant.SubTenant, err error) {
	if err = who.May(tenant.ChangeSubTenant); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if sub, err = st.SubTenants.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(sub.Revision()); err != nil {
			return err
		}
		if err := sub.Revise(p, s.clock.Now()); err != nil {
			return err
		}
		return st.SubTenants.Update(ctx, sub)
	})
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// Delete removes a registration.
func (s *SubTenants) Delete(ctx context.Context, who tenant.Caller, id tenant.RegistrationID, at domain.Expected) error {
	if err := who.May(tenant.DeleteSubTenant); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		sub, err := st.SubTenants.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(sub.Revision()); err != nil {
			return err
		}
		return st.SubTenants.Delete(ctx, who.Scope, id)
	})
}
