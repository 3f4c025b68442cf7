// Package tenants implements inbound.Tenants, what the operator does with tenants,
// and inbound.APIKeys.
package tenants

import (
	"context"
	"time"

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
func (s *Service) Create(ctx context.Context, idempotency domain.IdempotencyKey, d tenant.Draft) (made inbound.NewTenant, err error) {
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.OperatorIdempotency.Claim(ctx, idempotency, now); err != nil {
			return err
		}
		if made, err = s.draw(d, now); err != nil {
			return err
		}
		if err := st.Tenants.Insert(ctx, made.Tenant); err != nil {
			return err
		}
		if made.Tenant, err = st.Tenants.Get(ctx, made.Tenant.ID()); err != nil { // with what the gateway has for all
			return err
		}
		for _, first := range []inbound.IssuedKey{made.Public, made.Secret} {
			if err := st.APIKeys.Insert(ctx, first.Key); err != nil {
				return err
			}
		}
		return st.OperatorIdempotency.Record(ctx, idempotency, made.Tenant, now)
	})
	if err != nil {
		return inbound.NewTenant{}, err
	}
	return made, nil
}

// draw makes a tenant and its keys, without storing them.
func (s *Service) draw(d tenant.Draft, now time.Time) (made inbound.NewTenant, err error) {
	if made.Tenant, err = tenant.New(tenant.ID(s.random.ID(tenant.IDPrefix)), d, now); err != nil {
		return made, err
	}
	for _, first := range []struct {
		keyType tenant.KeyType
		issued  *inbound.IssuedKey
	}{{tenant.Public, &made.Public}, {tenant.Secret, &made.Secret}} {
		draft := tenant.KeyDraft{Type: first.keyType, Name: "first " + string(first.keyType) + " key"}
		if *first.issued, err = issue(s.random, made.Tenant.ID(), draft, now); err != nil {
			return made, err
		}
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
func (s *Service) List(ctx context.Context, f tenant.Filter, q domain.Query) (found domain.Page[*tenant.Tenant], err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Tenants.List(ctx, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, id tenant.ID, at domain.Expected, p tenant.Patch) (*tenant.Tenant, error) {
	return s.change(ctx, domain.IdempotencyKey{}, id, func(ten *tenant.Tenant, now time.Time) error {
		if err := at.Check(ten.Revision()); err != nil {
			return err
		}
		return ten.Revise(p, now)
	})
}

// Suspend makes the tenant's keys be refused.
func (s *Service) Suspend(ctx context.Context, idempotency domain.IdempotencyKey, id tenant.ID) (*tenant.Tenant, error) {
	return s.change(ctx, idempotency, id, func(ten *tenant.Tenant, now time.Time) error {
		ten.Suspend(now)
		return nil
	})
}

// Resume lets the tenant's keys be accepted again.
func (s *Service) Resume(ctx context.Context, idempotency domain.IdempotencyKey, id tenant.ID) (*tenant.Tenant, error) {
	return s.change(ctx, idempotency, id, func(ten *tenant.Tenant, now time.Time) error {
		ten.Resume(now)
		return nil
	})
}

// change does something to a tenant in one unit.
func (s *Service) change(
	ctx context.Context, idempotency domain.IdempotencyKey, id tenant.ID, verb func(*tenant.Tenant, time.Time) error,
) (ten *tenant.Tenant, err error) {
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, id, idempotency, now); err != nil {
			return err
		}
		if ten, err = st.Tenants.Get(ctx, id); err != nil {
			return err
		}
		if err := verb(ten, now); err != nil {
			return err
		}
		if err := st.Tenants.Update(ctx, ten); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, id, idempotency, ten, now)
	})
	if err != nil {
		return nil, err
	}
	return ten, nil
}

// Delete removes a tenant with everything it owns.
func (s *Service) Delete(ctx context.Context, id tenant.ID, at domain.Expected) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, id)
		if err != nil {
			return err
		}
		if err := at.Check(ten.Revision()); err != nil {
			return err
		}
		return st.Tenants.Delete(ctx, id)
	})
}
