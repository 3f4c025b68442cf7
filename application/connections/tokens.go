package connections

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of getting tokens.
const (
	// tokenTimeout is how long getting a token may take: waiting for somebody else's lease, and a request of
	// our own after it.
	tokenTimeout = 2 * connection.RefreshLease

	// keepTimeout is for how long what a server gave is tried to be stored. It would be lost
	// otherwise, and with it a refresh token that the server does not give again.
	keepTimeout = 2 * time.Minute

	firstWait, longestWait = 20 * time.Millisecond, 500 * time.Millisecond
)

// Tokens gets access tokens of connections: from memory while they are fresh, from the store, and from
// authorization servers, of all processes by one at a time. It is safe for concurrent use.
type Tokens struct {
	work     outbound.UnitOfWork
	endpoint outbound.TokenEndpoint
	clock    outbound.Clock
	random   outbound.Random
	fresh    freshTokens

	mu      sync.Mutex
	flights map[flightKey]*flight
}

// NewTokens returns the service.
func NewTokens(work outbound.UnitOfWork, endpoint outbound.TokenEndpoint, clock outbound.Clock, random outbound.Random) *Tokens {
	return &Tokens{work: work, endpoint: endpoint, clock: clock, random: random, flights: make(map[flightKey]*flight)}
}

// flightKey is what callers have in common that wait for the same token.
type flightKey struct {
	tenant  tenant.ID
	of      connection.ID
	client  string
	refused string // digest
}

// flight is a token that is being got.
type flight struct {
	done  chan struct{}
	token connection.Text
	err   error
}

// Token returns an access token of a connection of an OAuth kind. refused is one that the called service has
// refused, none at first: if it is still the current one, and not quite new, another one
// is asked for, else the current one comes back.
//
// Its errors are a Conflict with the code connection_needs_consent where only a person can help, and
// Unavailable with the code connection_token_unavailable where the authorization server gives none at the
// moment.
func (s *Tokens) Token(ctx context.Context, c *connection.Connection, refused connection.Text) (connection.Text, error) {
	client, ok := c.OAuth()
	if !ok {
		return connection.Text{}, errNoOAuth
	}
	key := flightKey{tenant: c.Tenant(), of: c.ID(), client: client.Fingerprint()}
	if refused.IsZero() {
		if token, ok := s.fresh.get(key, s.clock.Now()); ok {
			return token, nil
		}
	} else {
		key.refused = connection.SecretDigest(refused)
	}
	f := s.join(ctx, key, func(ctx context.Context) (connection.Text, error) {
		return s.obtain(ctx, c, client, key, connection.Need{Refused: refused})
	})
	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		return connection.Text{}, context.Cause(ctx)
	}
}

var errNoOAuth = errors.New("the connection is of no OAuth kind")

// join has one caller get a token for all who want the same. It goes on when its callers do not wait any more: a
// refresh that was begun has to be stored.
func (s *Tokens) join(ctx context.Context, key flightKey, get func(context.Context) (connection.Text, error)) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.flights[key]; ok {
		return f
	}
	f := &flight{done: make(chan struct{}), err: errFlightPanicked}
	s.flights[key] = f
	go func() {
		defer func() {
			s.mu.Lock()
			delete(s.flights, key)
			s.mu.Unlock()
			close(f.done)
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		f.token, f.err = get(ctx)
	}()
	return f
}

var errFlightPanicked = errors.New("getting the token panicked")

// obtain gets a token from the store, and from the server when it has to.
func (s *Tokens) obtain(ctx context.Context, c *connection.Connection, client connection.OAuth, key flightKey, need connection.Need) (none connection.Text, err error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		seen, err := s.look(ctx, c, client, need)
		if err != nil {
			return none, err
		}
		switch seen.step {
		case connection.UseToken:
			s.fresh.put(key, seen, s.clock.Now())
			return seen.grant.Access(), nil
		case connection.AskPerson:
			return none, needsConsent(c, seen.grant)
		case connection.CoolsDown:
			return none, unavailable(c, seen.grant, seen.now)
		case connection.WaitForIt:
			if !outbound.Sleep(ctx, wait) {
				return none, tokenTooLate(c)
			}
		case connection.AskForMore:
			asked, err := s.ask(ctx, c, client, need)
			if err != nil {
				return none, err
			}
			if asked != nil { // what has just been issued is good, however short its life
				s.fresh.put(key, *asked, s.clock.Now())
				return asked.grant.Access(), nil
			}
		}
	}
}

// sight is a grant as somebody saw it.
type sight struct {
	grant *connection.Grant
	now   time.Time
	step  connection.Step
	lease connection.Lease
}

// look says what the next step is, without doing it.
func (s *Tokens) look(ctx context.Context, c *connection.Connection, client connection.OAuth, need connection.Need) (seen sight, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		seen.grant, seen.now, err = st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
		return err
	})
	switch {
	case err == nil:
		seen.step = seen.grant.Next(client, need, seen.now)
		if seen.step == connection.AskPerson && seen.grant.IsFor(client) { // which has to be noted
			err = s.expire(ctx, c, client)
		}
	case domain.KindOf(err) == domain.NotFound:
		err = nil
		seen.grant = connection.NewGrant(c.Tenant(), c.ID())
		seen.step = seen.grant.Next(client, need, seen.now)
	}
	return seen, err
}

// expire notes that a token has ended that cannot be renewed, and tells it once.
func (s *Tokens) expire(ctx context.Context, c *connection.Connection, client connection.OAuth) error {
	id := event.ID(s.random.ID(event.IDPrefix))
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		g, now, err := st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
		if err != nil || !g.Expire(client, now) {
			return err
		}
		if err := st.Grants.Update(ctx, g); err != nil {
			return err
		}
		return st.Webhooks.Events.Append(ctx, event.NewNeedsConsent(id, c, *g.Failure(), s.clock.Now()))
	})
}
