package nodes

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Secrets implements inbound.NodeSecrets.
type Secrets struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.NodeSecrets = (*Secrets)(nil)

// NewSecrets returns the service.
func NewSecrets(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Secrets {
	return &Secrets{work: work, clock: clock, random: random}
}

// Get returns the tenant's secret.
func (s *Secrets) Get(ctx context.Context, who tenant.Caller) (found *tenant.NodeSecret, err error) {
	if err = who.May(tenant.ReadNodeSecret); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.NodeSecrets.Get(ctx, who.Tenant())
		return err
	})
	return found, err
}

// Rotate makes a secret, next to which the one before it signs for the overlap.
func (s *Secrets) Rotate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, overlap time.Duration) (n *tenant.NodeSecret, err error) {
	if err = who.May(tenant.RotateNodeSecret); err != nil {
		return nil, err
	}
	now, fresh := s.clock.Now(), draw(s.random)
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		n, err = st.NodeSecrets.Get(ctx, who.Tenant())
		switch {
		case errors.Is(err, domain.NotFound), outbound.IsUnreadableSecret(err):
			if err := st.NodeSecrets.Discard(ctx, who.Tenant()); err != nil {
				return err
			}
			n = tenant.NewNodeSecret(who.Tenant(), fresh, now)
			err = st.NodeSecrets.Insert(ctx, n)
		case err == nil:
			if err = n.Rotate(fresh, overlap, now); err == nil {
				err = st.NodeSecrets.Update(ctx, n)
			}
		}
		if err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, n, now)
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// firstSecret makes the secret of a tenant that has none; nil when there is one.
func firstSecret(ctx context.Context, st outbound.Stores, random outbound.Random, owner tenant.ID, now time.Time) (*domain.SigningSecret, error) {
	_, err := st.NodeSecrets.Get(ctx, owner)
	if !errors.Is(err, domain.NotFound) {
		return nil, err
	}
	fresh := draw(random)
	if err := st.NodeSecrets.Insert(ctx, tenant.NewNodeSecret(owner, fresh, now)); err != nil {
		return nil, err
	}
	return &fresh, nil
}

// draw draws a secret.
func draw(random outbound.Random) domain.SigningSecret {
	var entropy [domain.SecretEntropy]byte
	random.Fill(entropy[:])
	return domain.NewSigningSecret(entropy)
}
