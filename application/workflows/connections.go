package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// connectionsOf finds those connections that a version names and may use.
func (s *Versions) connectionsOf(ctx context.Context, ver *workflow.Version, types node.Registry) (map[connection.ID]*connection.Connection, error) {
	named := ver.Graph().Connections(types)
	if len(named) == 0 {
		return nil, nil
	}
	var found map[connection.ID]*connection.Connection
	err := s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found = make(map[connection.ID]*connection.Connection, len(named))
		for _, id := range named {
			if !domain.ValidIdentifier(string(id), connection.IDPrefix) {
				continue
			}
			c, err := st.Connections.Get(ctx, tenant.All(ver.Tenant()), id)
			switch {
			case errors.Is(err, domain.NotFound):
			case err != nil:
				return err
			case c.Serves(ver.SubTenant()):
				found[id] = c
			}
		}
		return nil
	})
	return found, err
}
