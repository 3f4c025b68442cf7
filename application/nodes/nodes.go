// Package nodes implements inbound.Nodes, inbound.CustomNodes, inbound.NodeChecks and
// inbound.NodeSecrets: which node types there are, those that tenants define, whether
// their endpoints live, and what signs the calls to them.
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
	directory outbound.Directory
}

var _ inbound.Nodes = (*Service)(nil)

// New returns the service.
func New(directory outbound.Directory) *Service { return &Service{directory: directory} }

// Registry returns what the caller sees, in the tenant's language unless its key has one.
func (s *Service) Registry(ctx context.Context, who tenant.Caller) (*node.Registry, error) {
	if err := who.May(tenant.ReadNodeRegistry); err != nil {
		return nil, err
	}
	registry, err := s.directory.Registry(ctx, who.Tenant())
	if err != nil {
		return nil, err
	}
	return registry.For(who), nil
}
