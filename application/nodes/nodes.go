// Package nodes implements inbound.Nodes.
package nodes

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Nodes.
type Service struct {
	work outbound.UnitOfWork
}

var _ inbound.Nodes = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork) *Service { return &Service{work: work} }

// Registry returns what the caller's tenant sees, in its language.
func (s *Service) Registry(ctx context.Context, who tenant.Caller) (node.Registry, error) {
	if err := who.May(tenant.ReadNodeRegistry); err != nil {
		return node.Registry{}, err
	}
	var custom []*node.Custom
	err := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		custom, err = st.CustomNodes.Active(ctx, who.Tenant)
		return err
	})
	if err != nil {
		return node.Registry{}, err
	}
	return node.RegistryFor(who.Tenant, who.Settings.Language, who.Settings.DisabledNodeTypes, custom), nil
}
