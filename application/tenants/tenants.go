// Package tenants implements inbound.Tenants, what the operator does with tenants,
// and inbound.APIKeys.
package tenants

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Tenants.
type Service struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.Tenants = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, clock: clock, random: random}
}

// Create makes a tenant with one key of each type.
func (s *Service) Create(ctx context.Context, d inbound.TenantDraft) (made inbound.NewTenant, err error) {
	if d.Language == "" {
		d.Language = tenant.English
	}
	now := s.clock.Now()
	made.Tenant, err = tenant.New(tenant.ID(s.random.ID(tenant.IDPrefix)), d.Name, d.Language, now)
	if err != nil {
		return inbound.NewTenant{}, err
	}
	for _, first := range []struct {
		keyType tenant.KeyType
		issued  *inbound.IssuedKey
	}{{tenant.Public, &made.Public}, {tenant.Secret, &made.Secret}} {
		draft := tenant.KeyDraft{Type: first.keyType, Name: "first " + string(first.keyType) + " key"}
		if *first.issued, err = issue(s.random, made.Tenant.ID(), draft, now); err != nil {
			return inbound.NewTenant{}, err
		}
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Tenants.Insert(ctx, made.Tenant); err != nil {
			return err
		}
		if err := st.APIKeys.Insert(ctx, made.Public.Key); err != nil {
			return err
		}
		return st.APIKeys.Insert(ctx, made.Secret.Key)
	})
	if err != nil {
		return inbound.NewTenant{}, err
	}
	return made, nil
}

// Get returns a tenant.
func (s *Service) Get(ctx context.Context, id tenant.ID) (ten *tenant.Tenant, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err = st.Tenants.Get(ctx, id)
		return err
	})
	return ten, err
}

// List returns a page of tenants.
func (s *Service) List(ctx context.Context, page domain.PageRequest) (found domain.Page[*tenant.Tenant], err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Tenants.List(ctx, page)
		return err
	})
	return found, err
}

// Suspend makes the tenant's keys be refused.
func (s *Service) Suspend(ctx context.Context, id tenant.ID) (*tenant.Tenant, error) {
	return s.change(ctx, id, func(ten *tenant.Tenant) error {
		ten.Suspend(s.clock.Now())
		return nil
	})
}

// Resume lets the tenant's keys be accepted again.
func (s *Service) Resume(ctx context.Context, id tenant.ID) (*tenant.Tenant, error) {
	return s.change(ctx, id, func(ten *tenant.Tenant) error {
		ten.Resume(s.clock.Now())
		return nil
	})
}

// Delete removes a tenant with everything it owns.
func (s *Service) Delete(ctx context.Context, id tenant.ID) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Tenants.Delete(ctx, id)
	})
}

func (s *Service) change(ctx context.Context, id tenant.ID, verb func(*tenant.Tenant) error) (ten *tenant.Tenant, err error) {
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if ten, err = st.Tenants.Get(ctx, id); err != nil {
			return err
		}
		if err := verb(ten); err != nil {
			return err
		}
		return st.Tenants.Update(ctx, ten)
	})
	if err != nil {
		return nil, err
	}
	return ten, nil
}
