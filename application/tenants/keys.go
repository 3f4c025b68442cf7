package tenants

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Keys implements inbound.APIKeys.
type Keys struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.APIKeys = (*Keys)(nil)

// NewKeys returns the service.
func NewKeys(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Keys {
	return &Keys{work: work, clock: clock, random: random}
}

// Issue makes a key.
func (s *Keys) Issue(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.KeyDraft) (issued inbound.IssuedKey, err error) {
	if err = who.May(tenant.CreateKey); err != nil {
		return issued, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if issued, err = issue(s.random, who.Tenant(), d, now); err != nil {
			return err
		}
		if err := st.APIKeys.Insert(ctx, issued.Key); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, issued.Key, now)
	})
	if err != nil {
		return inbound.IssuedKey{}, err
	}
	return issued, nil
}

// Get returns a key without its text.
func (s *Keys) Get(ctx context.Context, who tenant.Caller, id tenant.KeyID) (key *tenant.APIKey, err error) {
	if err = who.May(tenant.ReadKeys); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		key, err = st.APIKeys.Get(ctx, who.Tenant(), id)
		return err
	})
	return key, err
}

// List returns a page of the tenant's keys.
func (s *Keys) List(ctx context.Context, who tenant.Caller, page domain.PageRequest) (found domain.Page[*tenant.APIKey], err error) {
	if err = who.May(tenant.ReadKeys); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.APIKeys.List(ctx, who.Tenant(), page)
		return err
	})
	return found, err
}

// Rotate makes a key like the old one, with the same limits, which ends after the grace.
func (s *Keys) Rotate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id tenant.KeyID, grace time.Duration) (fresh inbound.IssuedKey, err error) {
	if err = who.May(tenant.RotateKey); err != nil {
		return fresh, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		old, err := st.APIKeys.Get(ctx, who.Tenant(), id)
		if err != nil {
			return err
		}
		if !old.Usable(now) { // of which there can be none like it, either
			return old.Retire("", grace, now)
		}
		fresh, err = issue(s.random, who.Tenant(), tenant.KeyDraft{Type: old.Type(), Name: old.Name(), ExpiresAt: old.ExpiresAt(), Narrowing: old.Narrowing()}, now)
		if err != nil {
			return err
		}
		if err := old.Retire(fresh.Key.ID(), grace, now); err != nil {
			return err
		}
		if err := st.APIKeys.Update(ctx, old); err != nil {
			return err
		}
		if err := st.APIKeys.Insert(ctx, fresh.Key); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, fresh.Key, now)
	})
	if err != nil {
		return inbound.IssuedKey{}, err
	}
	return fresh, nil
}

// Revoke ends a key at once.
func (s *Keys) Revoke(ctx context.Context, who tenant.Caller, id tenant.KeyID) (key *tenant.APIKey, err error) {
	if err = who.May(tenant.RevokeKey); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		// Keys that end within the longest grace are on their way out already.
		soon := now.Add(tenant.MaxGrace)
		lasting, err := st.APIKeys.CountUsable(ctx, who.Tenant(), tenant.Secret, soon)
		if err != nil {
			return err
		}
		if key, err = st.APIKeys.Get(ctx, who.Tenant(), id); err != nil {
			return err
		}
		if key.Usable(soon) && !key.IsNarrowed() {
			lasting-- // is this one
		}
		if key.Type() == tenant.Secret && !key.IsNarrowed() && key.Usable(now) && lasting < 1 {
			return domain.Fail(domain.Conflict, "last_secret_key",
				"This is the last secret key that lasts. Rotate it, or create another one first.")
		}
		key.Revoke(now)
		return st.APIKeys.Update(ctx, key)
	})
	if err != nil {
		return nil, err
	}
	return key, nil
}

// issue draws the text of a key and records the key, without storing it.
func issue(random outbound.Random, owner tenant.ID, d tenant.KeyDraft, now time.Time) (inbound.IssuedKey, error) {
	var entropy [tenant.KeyEntropy]byte
	random.Fill(entropy[:])
	text := tenant.NewKeyText(d.Type, entropy)
	key, err := tenant.NewAPIKey(tenant.KeyID(random.ID(tenant.KeyIDPrefix)), owner, d, text, now)
	if err != nil {
		return inbound.IssuedKey{}, err
	}
	return inbound.IssuedKey{Key: key, Text: text}, nil
}
