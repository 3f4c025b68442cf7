package tenants

import (
	"context"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// framesPerAddress is how often one address may open the page of the editor in a minute: an office has one address.
const framesPerAddress = 600

// EmbedPages implements inbound.EmbedPages.
type EmbedPages struct {
	work    outbound.UnitOfWork
	limiter outbound.Limiter
}

var _ inbound.EmbedPages = (*EmbedPages)(nil)

// NewEmbedPages returns the service.
func NewEmbedPages(work outbound.UnitOfWork, limiter outbound.Limiter) *EmbedPages {
	return &EmbedPages{work: work, limiter: limiter}
}

// Origins returns which pages may frame the one of a tenant.
func (s *EmbedPages) Origins(ctx context.Context, from netip.Addr, id tenant.ID) (origins []string, err error) {
	allowed, err := s.limiter.Allow(ctx, "embed "+domain.NetworkOf(from), framesPerAddress, time.Minute)
	if err != nil {
		return nil, err
	}
	if !allowed.Granted {
		refused := domain.Fail(domain.RateLimited, "rate_limited", "Too many requests came from this address. Wait a little.")
		refused.RetryAfter = allowed.RetryAfter
		return nil, refused
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, id)
		if err == nil && ten.Status() == tenant.Active {
			origins = ten.Settings().EmbedOrigins
		}
		return err
	})
	return origins, err
}
