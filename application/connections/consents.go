package connections

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Where people are led to, below the gateway's address for the world outside.
const (
	consentPath  = "/oauth/consent/"
	callbackPath = "/oauth/callback"
)

// PublicURL is the address under which the world outside reaches the gateway. It is known once the gateway
// listens.
type PublicURL func() string

func (u PublicURL) under(path string) string { return strings.TrimRight(u(), "/") + path }

// Consents implements inbound.Consents.
type Consents struct {
	work     outbound.UnitOfWork
	endpoint outbound.TokenEndpoint
	clock    outbound.Clock
	random   outbound.Random
	public   PublicURL
}

var _ inbound.Consents = (*Consents)(nil)

// NewConsents returns the service.
func NewConsents(work outbound.UnitOfWork, endpoint outbound.TokenEndpoint, clock outbound.Clock, random outbound.Random, public PublicURL) *Consents {
	return &Consents{work: work, endpoint: endpoint, clock: clock, random: random, public: public}
}

func (s *Consents) secret() connection.Text {
	var random [connection.SecretBytes]byte
	s.random.Fill(random[:])
	return connection.SecretText(random)
}

// Authorize makes a link.
func (s *Consents) Authorize(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id connection.ID) (made inbound.ConsentLink, err error) {
	if err = who.May(tenant.AuthorizeConnection); err != nil {
		return made, err
	}
	now, link := s.clock.Now(), s.secret()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		c, err := st.Connections.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		client, ok := c.OAuth()
		if !ok || !client.ForPeople() {
			return domain.Fail(domain.Conflict, "connection_needs_no_consent",
				"Only connections of the kind %s need a person's consent, and this is one of the kind %s.", connection.OAuth2AuthorizationCode, c.Kind())
		}
		r := connection.NewConsentRequest(c.Tenant(), c.ID(), client, link, now)
		made = inbound.ConsentLink{URL: s.public.under(consentPath) + link.Reveal(), EndsAt: r.EndsAt()}
		if err := st.Consents.Insert(ctx, r, now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, made, now)
	})
	return made, err
}

// asked is a request for consent with what it is for.
type asked struct {
	request    *connection.ConsentRequest
	connection *connection.Connection
	client     connection.OAuth
	tenant     *tenant.Tenant
}

// find reads a request that can still be met.
func (s *Consents) find(ctx context.Context, st outbound.Stores, digest string) (found asked, err error) {
	if found.request, err = st.Consents.Get(ctx, digest); err != nil {
		return found, err
	}
	owner := found.request.Tenant()
	if found.connection, err = st.Connections.Get(ctx, tenant.All(owner), found.request.Connection()); err != nil {
		return found, consentGone(err)
	}
	if found.tenant, err = st.Tenants.Get(ctx, owner); err != nil {
		return found, consentGone(err)
	}
	var ok bool
	if found.client, ok = found.connection.OAuth(); !ok || found.tenant.Status() != tenant.Active {
		return found, connection.ConsentEnded()
	}
	return found, found.request.Check(found.client, s.clock.Now())
}

// consentGone says of what was deleted that it has ended.
func consentGone(err error) error {
	if domain.KindOf(err) == domain.NotFound {
		return connection.ConsentEnded()
	}
	return err
}

// Open says where a link leads.
func (s *Consents) Open(ctx context.Context, link connection.Text) (page inbound.ConsentPage, err error) {
	var found asked
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = s.find(ctx, st, connection.SecretDigest(link))
		return err
	})
	if err != nil {
		return page, err
	}
	key := s.secret()
	at, err := found.request.AuthorizationRequest(found.client, key, s.public.under(callbackPath))
	if err != nil {
		return page, err
	}
	return inbound.ConsentPage{
		Tenant: found.tenant.Name(), Connection: found.connection.Name(), Host: hostOf(found.client.AuthorizationURL), TokenHost: hostOf(found.client.TokenURL),
		URL: at, Secure: strings.HasPrefix(s.public(), "https://"), OAuthState: found.request.StateFor(key), Key: key, EndsAt: found.request.EndsAt(),
	}, nil
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// Complete gets the tokens that a person consented to.
func (s *Consents) Complete(ctx context.Context, back inbound.ConsentAnswer) (*connection.Connection, error) {
	digest, err := connection.DigestOfState(back.OAuthState, back.Key)
	if err != nil {
		return nil, err
	}
	var found asked
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if found, err = s.find(ctx, st, digest); err != nil {
			return err
		}
		return st.Consents.Take(ctx, digest) // from here on it is used, whatever comes of it
	})
	switch {
	case err != nil:
		return nil, err
	case !found.client.IssuedBy(back.Issuer):
		return nil, consentFailed("The answer came from another authorization server than the one that was asked.")
	case back.Error == "access_denied":
		return nil, domain.Fail(domain.Conflict, "consent_refused", "Consent was refused, and nothing has changed.")
	case back.Error != "" || back.Code.IsZero():
		return nil, consentFailed("The authorization server refused the request. Whoever set up the connection looks at its client id, its scopes and the redirect URI that is registered.")
	}
	issued, failure, err := s.endpoint.RequestTokens(ctx, found.client, outbound.AuthorizationCode{
		Code: back.Code, Verifier: back.Key, RedirectURI: s.public.under(callbackPath),
	})
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return nil, consentFailed("The authorization server gave no tokens: " + failure.Message)
	}
	return found.connection, s.keep(ctx, found, issued)
}

func consentFailed(why string) error {
	return domain.Fail(domain.Conflict, "consent_failed", "%s", why)
}

// keep stores the tokens, unless the connection was changed into another client's meanwhile.
func (s *Consents) keep(ctx context.Context, found asked, issued connection.IssuedTokens) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err := st.Connections.Get(ctx, tenant.All(found.request.Tenant()), found.request.Connection())
		if err != nil {
			return consentGone(err)
		}
		client, ok := c.OAuth()
		if !ok || client.Fingerprint() != found.client.Fingerprint() {
			return connection.ConsentEnded()
		}
		g, now, err := grantOf(ctx, st, c)
		if err != nil {
			return err
		}
		g.Consented(client, issued, now)
		return st.Grants.Update(ctx, g)
	})
}

// grantOf reads the grant of a connection, and makes it where there is none.
func grantOf(ctx context.Context, st outbound.Stores, c *connection.Connection) (*connection.Grant, time.Time, error) {
	g, now, err := st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
	if domain.KindOf(err) != domain.NotFound {
		return g, now, err
	}
	if err := st.Grants.Insert(ctx, connection.NewGrant(c.Tenant(), c.ID())); err != nil {
		return nil, now, err
	}
	return st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
}

// State says what there is of a grant.
func (s *Consents) State(ctx context.Context, who tenant.Caller, id connection.ID) (state inbound.GrantState, err error) {
	if err = who.May(tenant.ReadConnections); err != nil {
		return state, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err := st.Connections.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		client, ok := c.OAuth()
		if !ok {
			return domain.Fail(domain.NotFound, "grant_not_found", "A connection of the kind %s has no tokens of an authorization server.", c.Kind())
		}
		all, err := st.Grants.States(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if state.Grant = all[id]; state.Grant == nil {
			state.Grant = connection.NewGrant(c.Tenant(), id)
		}
		state.NeedsConsent = state.Grant.NeedsConsent(client)
		return nil
	})
	return state, err
}
