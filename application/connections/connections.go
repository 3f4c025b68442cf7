// Package connections implements inbound.Connections and outbound.Credentials: keeping what
// workflows call with, and giving it out to the calls.
package connections

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Connections.
type Service struct {
	work        outbound.UnitOfWork
	names       outbound.HostNames
	credentials outbound.Credentials
	runner      outbound.NodeRunner
	clock       outbound.Clock
	random      outbound.Random
}

var _ inbound.Connections = (*Service)(nil)

// New returns the service. It tests connections with what credentials gives out and what
// runner calls.
func New(work outbound.UnitOfWork, names outbound.HostNames, credentials outbound.Credentials, runner outbound.NodeRunner, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, names: names, credentials: credentials, runner: runner, clock: clock, random: random}
}

// one asks for a page of one record.
var one = func() domain.Query {
	page, err := domain.NewPageRequest(1, 0)
	if err != nil {
		panic(err)
	}
	return domain.Query{PageRequest: page}
}()

// Create makes a connection.
func (s *Service) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d connection.Draft) (c *connection.Connection, err error) {
	if err = who.May(tenant.CreateConnection); err != nil {
		return nil, err
	}
	if err = who.Scope.Check(d.SubTenant); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	c, err = connection.New(connection.ID(s.random.ID(connection.IDPrefix)), who.Tenant(), d, s.names.ASCII, now)
	if err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		// Of requests at the same time a few may slip past the limit, which does no harm.
		all, err := st.Connections.List(ctx, tenant.All(who.Tenant()), connection.Filter{}, one)
		if err != nil {
			return err
		}
		if all.Total >= connection.MaxConnections {
			return domain.Fail(domain.Conflict, "connection_limit",
				"There are %d connections, and no more are permitted. Delete one that is not needed any more.", all.Total)
		}
		if err := st.Connections.Insert(ctx, c); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, c, now)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Get returns a connection.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id connection.ID) (c *connection.Connection, err error) {
	if err = who.May(tenant.ReadConnections); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err = st.Connections.Get(ctx, who.Scope, id)
		return err
	})
	return c, err
}

// List returns a page of connections.
func (s *Service) List(ctx context.Context, who tenant.Caller, f connection.Filter, q domain.Query) (found domain.Page[*connection.Connection], err error) {
	if err = who.May(tenant.ReadConnections); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Connections.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, who tenant.Caller, id connection.ID, at domain.Expected, p connection.Patch) (c *connection.Connection, err error) {
	if err = who.May(tenant.ChangeConnection); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if c, err = st.Connections.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(c.Revision()); err != nil {
			return err
		}
		if err := c.Revise(p, s.names.ASCII, s.clock.Now()); err != nil {
			return err
		}
		return st.Connections.Update(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Delete removes a connection that nothing names.
func (s *Service) Delete(ctx context.Context, who tenant.Caller, id connection.ID, at domain.Expected) error {
	if err := who.May(tenant.DeleteConnection); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err := st.Connections.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(c.Revision()); err != nil {
			return err
		}
		// A connection that is shared may be named by records of any sub-tenant.
		uses, err := st.Connections.UsedBy(ctx, tenant.All(who.Tenant()), id, connection.MaxUses)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return connection.InUse(uses)
		}
		return st.Connections.Delete(ctx, who.Scope, id)
	})
}
