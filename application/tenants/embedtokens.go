package tenants

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// EmbedTokens implements inbound.EmbedTokens.
type EmbedTokens struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.EmbedTokens = (*EmbedTokens)(nil)

// NewEmbedTokens returns the service.
func NewEmbedTokens(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *EmbedTokens {
	return &EmbedTokens{work: work, clock: clock, random: random}
}

// Issue makes a token.
func (s *EmbedTokens) Issue(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.EmbedTokenDraft) (issued inbound.IssuedKey, err error) {
	if err = who.May(tenant.CreateEmbedToken); err != nil {
		return issued, err
	}
	now := s.clock.Now()
	var entropy [tenant.KeyEntropy]byte
	s.random.Fill(entropy[:])
	issued.Text = tenant.NewKeyText(tenant.Embed, entropy)
	issued.Key, err = tenant.NewEmbedToken(tenant.KeyID(s.random.ID(tenant.EmbedTokenIDPrefix)), who.Tenant(), d, issued.Text, now)
	if err != nil {
		return inbound.IssuedKey{}, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
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

// List returns a page of the tenant's tokens.
func (s *EmbedTokens) List(ctx context.Context, who tenant.Caller, f tenant.EmbedTokenFilter, page domain.PageRequest) (found domain.Page[*tenant.APIKey], err error) {
	if err = who.May(tenant.ReadEmbedTokens); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.EmbedTokens.List(ctx, who.Tenant(), f, page)
		return err
	})
	return found, err
}

// Revoke ends a token at once.
func (s *EmbedTokens) Revoke(ctx context.Context, who tenant.Caller, id tenant.KeyID) error {
	if err := who.May(tenant.RevokeEmbedTokens); err != nil {
		return err
	}
	now := s.clock.Now()
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		token, err := st.APIKeys.Get(ctx, who.Tenant(), id)
		if errors.Is(err, domain.NotFound) || err == nil && token.Type() != tenant.Embed {
			return domain.Fail(domain.NotFound, "embed_token_not_found", "There is no such embed token.")
		}
		if err != nil {
			return err
		}
		token.Revoke(now)
		return st.APIKeys.Update(ctx, token)
	})
}

// RevokeAll ends all tokens that fit.
func (s *EmbedTokens) RevokeAll(ctx context.Context, who tenant.Caller, f tenant.EmbedTokenFilter) error {
	if err := who.May(tenant.RevokeEmbedTokens); err != nil {
		return err
	}
	if f.SubTenant == nil && f.Subject == nil {
		var r domain.Rules
		r.Check(false, "subTenantId", domain.Required, "or subject must say whose embed tokens are revoked")
		return r.Err("embed_token_invalid", "It must be said whose embed tokens are revoked.")
	}
	now := s.clock.Now()
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		_, err := st.EmbedTokens.RevokeAll(ctx, who.Tenant(), f, now)
		return err
	})
}
