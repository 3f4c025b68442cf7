package webhooks

import (
	"context"
	"errors"
	"net/url"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// checkConnection demands that an endpoint may use its connection, whose secret may be sent to
// its URL. Processes that know no connections would send without it, so that there must be none.
func (s *Endpoints) checkConnection(ctx context.Context, st outbound.Stores, e *event.Endpoint) error {
	if e.Connection() == "" {
		return nil
	}
	var r domain.Rules
	c, err := s.connectionOf(ctx, st, e)
	switch {
	case errors.Is(err, domain.NotFound):
		r.Check(false, "connection", domain.Unknown, "must be the id of a connection that the endpoint's sub-tenant may use")
	case err != nil:
		return err
	default:
		u, err := url.Parse(e.URL())
		reaches := false
		if err == nil {
			target, ok := connection.TargetOf(u, s.names.ASCII)
			reaches = ok && c.Hosts().Cover(target)
		}
		r.Check(c.Active(), "connection", domain.NotAllowed, "must be active")
		r.Check(reaches, "connection", domain.NotAllowed, "must name the host of the URL among its hosts")
	}
	if err := r.Err("webhook_endpoint_invalid", "The webhook endpoint is not valid."); err != nil {
		return err
	}
	return st.Processes.Require(ctx, process.SecondRelease)
}

func (s *Endpoints) connectionOf(ctx context.Context, st outbound.Stores, e *event.Endpoint) (*connection.Connection, error) {
	unknown := domain.Fail(domain.NotFound, "connection_not_found", "There is no such connection.")
	if !domain.ValidIdentifier(string(e.Connection()), connection.IDPrefix) {
		return nil, unknown
	}
	c, err := st.Connections.Get(ctx, tenant.All(e.Tenant()), e.Connection())
	if err == nil && !c.Serves(e.SubTenant()) {
		return nil, unknown
	}
	return c, err
}
