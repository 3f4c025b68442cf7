// Package secrets implements inbound.Secrets, what the operator does for the encryption of secrets.
package secrets

import (
	"context"

	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Secrets.
type Service struct {
	work  outbound.UnitOfWork
	maker outbound.KeysetMaker
}

var _ inbound.Secrets = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, maker outbound.KeysetMaker) *Service {
	return &Service{work: work, maker: maker}
}

// Prepare makes the first keyset.
func (s *Service) Prepare(ctx context.Context) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil || found.Revision > 0 {
			return err
		}
		wrapped, err := s.maker.Make(ctx)
		if err != nil {
			return err
		}
		return st.Secrets.InsertKeyset(ctx, wrapped)
	})
}
