package connections

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ask asks the authorization server for tokens, if no other process does. It returns the grant that holds
// them, and nil where others were quicker or the request failed, which the grant says.
func (s *Tokens) ask(ctx context.Context, c *connection.Connection, client connection.OAuth, need connection.Need) (*sight, error) {
	leased, ok, err := s.lease(ctx, c, client, need)
	if err != nil || !ok {
		return nil, err
	}
	by := outbound.TokenGrant(outbound.ClientCredentials{})
	if client.ForPeople() {
		by = outbound.RefreshTokens{Refresh: leased.lease.Refresh()}
	}
	issued, failure, err := s.endpoint.RequestTokens(ctx, client, by)
	if err != nil { // nobody knows what the server did; the lease ends by itself
		return nil, err
	}
	return s.keep(ctx, c, client, leased.lease, issued, failure)
}

// lease takes the lease, unless somebody has it.
func (s *Tokens) lease(ctx context.Context, c *connection.Connection, client connection.OAuth, need connection.Need) (seen sight, ok bool, err error) {
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		ok = false
		g, now, err := grantOf(ctx, st, c)
		if err != nil || g.Next(client, need, now) != connection.AskForMore {
			return err
		}
		seen, ok = sight{grant: g, now: now, lease: g.Lease(now)}, true
		return st.Grants.Update(ctx, g)
	})
	return seen, ok, err
}

// keep stores what a server gave or refused. It does not give up easily.
func (s *Tokens) keep(ctx context.Context, c *connection.Connection, client connection.OAuth, l connection.Lease, issued connection.IssuedTokens, failure *connection.TokenFailure) (*sight, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	id := event.ID(s.random.ID(event.IDPrefix))
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		kept, err := s.tryToKeep(ctx, c, client, l, issued, failure, id)
		if err == nil || domain.KindOf(err) == domain.NotFound || !outbound.Sleep(ctx, wait) {
			return kept, err
		}
	}
}

func (s *Tokens) tryToKeep(ctx context.Context, c *connection.Connection, client connection.OAuth, l connection.Lease, issued connection.IssuedTokens, failure *connection.TokenFailure, id event.ID) (kept *sight, err error) {
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		kept = nil
		g, now, err := st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
		if err != nil {
			return err
		}
		if failure != nil {
			if g.Fail(l, client, *failure, now) {
				if err := st.Webhooks.Events.Append(ctx, event.NewNeedsConsent(id, c, *g.Failure(), s.clock.Now())); err != nil {
					return err
				}
			}
			return st.Grants.Update(ctx, g)
		}
		if !g.Accept(l, client, issued, now) {
			return nil
		}
		kept = &sight{grant: g, now: now}
		return st.Grants.Update(ctx, g)
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// needsConsent is the error of a connection that only a person can help.
func needsConsent(c *connection.Connection, g *connection.Grant) error {
	why := "Nobody has consented to it yet."
	if f := g.Failure(); f != nil {
		why = f.Message
	}
	return domain.Fail(domain.Conflict, codeNeedsConsent,
		"The connection %s needs a person's consent: POST /v1/gateway/connections/%s/authorize gives the link. %s", c.ID(), c.ID(), why)
}

// unavailable is the error of a server that gave no token a moment ago.
func unavailable(c *connection.Connection, g *connection.Grant, now time.Time) error {
	err := domain.Fail(domain.Unavailable, codeTokenUnavailable, "The connection %s has no valid access token at the moment. %s", c.ID(), g.Failure().Message)
	err.RetryAfter = g.RetryIn(now)
	return err
}

const codeTokenUnavailable = "connection_token_unavailable"

// tokenTooLate is the error of a token that others did not get in time.
func tokenTooLate(c *connection.Connection) error {
	err := domain.Fail(domain.Unavailable, codeTokenUnavailable, "The connection %s got no access token in time.", c.ID())
	err.RetryAfter = connection.CoolDown
	return err
}

// maxRenewals is how many unused grants one sweep renews at most before others have their turn.
const maxRenewals = 100

// RenewUnused renews grants that would be lost if nobody used them, and returns how many it looked after.
func (s *Tokens) RenewUnused(ctx context.Context) (renewed int, err error) {
	var due []outbound.GrantKey
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		due, err = st.Grants.Due(ctx, maxRenewals)
		return err
	})
	for _, key := range due {
		if ctx.Err() != nil {
			return renewed, nil
		}
		if one := s.renew(ctx, key); one != nil && domain.KindOf(one) != domain.Unavailable {
			err = one
			continue
		}
		renewed++
	}
	return renewed, err
}

// renew renews one. What stands against it is kept in the grant.
func (s *Tokens) renew(ctx context.Context, key outbound.GrantKey) error {
	var c *connection.Connection
	err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		c, err = st.Connections.Get(ctx, tenant.All(key.Tenant), key.Connection)
		return err
	})
	if domain.KindOf(err) == domain.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	client, ok := c.OAuth()
	if !ok {
		return fmt.Errorf("renew the grant of %s: %w", key.Connection, errNoOAuth)
	}
	need := connection.Need{Unused: true}
	seen, err := s.look(ctx, c, client, need)
	if err == nil && seen.step == connection.AskForMore {
		_, err = s.ask(ctx, c, client, need)
	}
	return err
}
