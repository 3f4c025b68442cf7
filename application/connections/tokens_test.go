package connections_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/oauth"
	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/connections"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const public, callback = "https://sluice.example.com", "https://sluice.example.com/oauth/callback"

// env is a gateway's use of an authorization server.
type env struct {
	*testing.T
	store  outbound.UnitOfWork
	server *oauthtest.Server
	owner  tenant.ID
}

// onEachStore runs a test with a server on both databases.
func onEachStore(t *testing.T, test func(e env)) {
	t.Helper()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		t.Helper()
		test(newEnv(t, store))
	})
}

func newEnv(t *testing.T, store outbound.UnitOfWork) env {
	t.Helper()
	ten, err := tenant.New(tenant.ID(system.Random{}.ID(tenant.IDPrefix)), tenant.Draft{Name: "Acme"}, system.Clock{}.Now())
	if err != nil {
		t.Fatal(err)
	}
	e := env{t, store, oauthtest.Start(t, callback), ten.ID()}
	e.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return e
}

func (e env) write(fn func(ctx context.Context, st outbound.Stores) error) {
	e.Helper()
	if err := e.store.Do(e.Context(), fn); err != nil {
		e.Fatal(err)
	}
}

func (e env) caller() tenant.Caller {
	return tenant.Caller{Scope: tenant.All(e.owner), KeyType: tenant.Secret}
}

func endpoint(t *testing.T) *oauth.TokenEndpoint {
	t.Helper()
	g := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(g.Close)
	return oauth.New(g.Client(egress.Stay))
}

// process is the tokens of a process of its own.
func (e env) process() *connections.Tokens {
	return connections.NewTokens(e.store, endpoint(e.T), system.Clock{}, system.Random{})
}

func (e env) consents() *connections.Consents {
	return connections.NewConsents(e.store, endpoint(e.T), system.Clock{}, system.Random{}, func() string { return public })
}

func (e env) connect(kind connection.Kind, secret map[string]any) *connection.Connection {
	e.Helper()
	own, err := url.Parse(e.server.URL)
	if err != nil {
		e.Fatal(err)
	}
	secret["tokenUrl"] = e.server.TokenURL()
	c, err := connection.New(connection.ID(system.Random{}.ID(connection.IDPrefix)), e.owner, connection.Draft{
		Name: "Provider", Kind: kind, Hosts: []string{own.Host}, Secret: secret,
	}, func(name string) (string, error) { return name, nil }, system.Clock{}.Now())
	if err != nil {
		e.Fatal(err)
	}
	e.write(func(ctx context.Context, st outbound.Stores) error { return st.Connections.Insert(ctx, c) })
	return c
}

func (e env) ofPerson() *connection.Connection {
	e.Helper()
	return e.connect(connection.OAuth2AuthorizationCode, map[string]any{
		"authorizationUrl": e.server.AuthorizationURL(), "clientId": oauthtest.WebClient, "clientSecret": oauthtest.WebSecret, "scopes": "openid offline_access",
	})
}

func (e env) ofClient() *connection.Connection {
	e.Helper()
	return e.connect(connection.OAuth2ClientCredentials, map[string]any{"clientId": oauthtest.ServiceClient, "clientSecret": oauthtest.ServiceSecret})
}

// link asks for consent to a connection.
func (e env) link(c *connection.Connection) string {
	e.Helper()
	made, err := e.consents().Authorize(e.Context(), e.caller(), domain.IdempotencyKey{}, c.ID())
	if err != nil {
		e.Fatal(err)
	}
	return made.URL
}

func (e env) openLink(link string) inbound.ConsentPage {
	e.Helper()
	page, err := e.consents().Open(e.Context(), connection.NewText(strings.TrimPrefix(link, public+"/oauth/consent/")))
	if err != nil {
		e.Fatal(err)
	}
	return page
}

func (e env) open(c *connection.Connection) inbound.ConsentPage {
	e.Helper()
	return e.openLink(e.link(c))
}

// reviseClient makes a connection that of another client.
func (e env) reviseClient(c *connection.Connection, id string) {
	e.Helper()
	e.write(func(ctx context.Context, st outbound.Stores) error {
		now, err := st.Connections.Get(ctx, tenant.All(e.owner), c.ID())
		if err != nil {
			return err
		}
		secret := now.Secret().Shown()
		secret["clientId"], secret["scopes"] = id, "openid offline_access"
		err = now.Revise(connection.Patch{Secret: secret}, func(name string) (string, error) { return name, nil }, system.Clock{}.Now())
		if err != nil {
			return err
		}
		return st.Connections.Update(ctx, now)
	})
}

// comeBack has the person of a page consent, and returns what the browser brings.
func (e env) comeBack(page inbound.ConsentPage) inbound.ConsentAnswer {
	e.Helper()
	back := e.server.Visit(e.T, page.URL)
	answer := inbound.ConsentAnswer{OAuthState: back.Get("state"), Key: page.Key, Error: back.Get("error"), Issuer: back.Get("iss")}
	if code := back.Get("code"); code != "" {
		answer.Code = connection.NewText(code)
	}
	return answer
}

func (e env) consent(c *connection.Connection) {
	e.Helper()
	if _, err := e.consents().Complete(e.Context(), e.comeBack(e.open(c))); err != nil {
		e.Fatal(err)
	}
}

func (e env) token(s *connections.Tokens, c *connection.Connection) connection.Text {
	e.Helper()
	token, err := s.Token(e.Context(), c, connection.Text{})
	if err != nil {
		e.Fatal(err)
	}
	return token
}

// change changes the grant of a connection as the passing of time would.
func (e env) change(c *connection.Connection, change func(st *connection.GrantState)) {
	e.Helper()
	e.write(func(ctx context.Context, st outbound.Stores) error {
		g, _, err := st.Grants.Get(ctx, tenant.All(e.owner), c.ID())
		if err != nil {
			return err
		}
		state := g.State()
		change(&state)
		return st.Grants.Update(ctx, connection.RestoreGrant(state))
	})
}

func (e env) age(c *connection.Connection, by time.Duration) {
	e.Helper()
	e.change(c, func(st *connection.GrantState) {
		for _, at := range []**time.Time{&st.IssuedAt, &st.ExpiresAt, &st.RenewAt, &st.RetryAt, &st.LeaseEnds} {
			if *at != nil {
				moved := (*at).Add(-by)
				*at = &moved
			}
		}
	})
}

func (e env) grant(c *connection.Connection) (g *connection.Grant) {
	e.Helper()
	err := e.store.Read(e.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		g, _, err = st.Grants.Get(ctx, tenant.All(e.owner), c.ID())
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	return g
}

// told are the events that wait to be sent.
func (e env) told() (types []event.Type) {
	e.Helper()
	err := e.store.Read(e.Context(), func(ctx context.Context, st outbound.Stores) error {
		events, err := st.Webhooks.Events.PendingFanOut(ctx, 100, e.owner)
		for _, one := range events {
			types = append(types, one.Type())
		}
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	return types
}

func (e env) wantCode(err error, kind domain.Kind, code string) {
	e.Helper()
	if domain.KindOf(err) != kind || err == nil || !strings.HasPrefix(err.Error(), code+":") {
		e.Errorf("the error is %v, not %s (%s)", err, code, kind)
	}
}

// together has many want a token at once.
func (e env) together(many int, c *connection.Connection, of func(i int) *connections.Tokens) (tokens []string) {
	e.Helper()
	tokens = make([]string, many)
	errs := make([]error, many)
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range many {
		ready.Add(1)
		done.Go(func() {
			s := of(i)
			ready.Done()
			<-begin
			var token connection.Text
			token, errs[i] = s.Token(e.Context(), c, connection.Text{})
			tokens[i] = token.Reveal()
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
	for i, err := range errs {
		if err != nil {
			e.Fatalf("number %d: %v", i, err)
		}
		if tokens[i] != tokens[0] {
			e.Fatalf("number %d got another token", i)
		}
	}
	return tokens
}

func TestAClientsOwnTokenIsGotOnceAndKept(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofClient()
		s := e.process()
		tokens := e.together(20, c, func(int) *connections.Tokens { return s })
		if e.server.Call(e.T, tokens[0]) != http.StatusOK || len(e.server.Asked()) != 1 {
			e.Errorf("the server was asked %d times", len(e.server.Asked()))
		}
		if e.token(e.process(), c).Reveal() != tokens[0] || len(e.server.Asked()) != 1 {
			e.Error("another process got another token")
		}
		e.age(c, 48*time.Minute)
		if e.token(e.process(), c).Reveal() == tokens[0] || len(e.server.Asked()) != 2 {
			e.Error("it is not renewed early")
		}
	})
}

func TestOfThirtyProcessesOneRefreshes(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		e.consent(c)
		for round, aged := range []time.Duration{time.Hour, 48 * time.Minute} {
			e.age(c, aged)
			all := make([]*connections.Tokens, 30)
			for i := range all {
				all[i] = e.process()
			}
			if round > 0 { // who is early and finds somebody at work uses what there is
				var done sync.WaitGroup
				for _, s := range all {
					done.Go(func() {
						if token, err := s.Token(e.Context(), c, connection.Text{}); err != nil || e.server.Call(e.T, token.Reveal()) != http.StatusOK {
							e.Errorf("a token that is not good: %v", err)
						}
					})
				}
				done.Wait()
			} else if tokens := e.together(len(all), c, func(i int) *connections.Tokens { return all[i] }); e.server.Call(e.T, tokens[0]) != http.StatusOK {
				e.Error("the token is not good")
			}
			if e.server.Refreshes() != round+1 || e.server.Reuses() != 0 || e.grant(c).NeedsConsent(clientOf(c)) {
				e.Fatalf("%d refreshes, %d with a token that was used", e.server.Refreshes(), e.server.Reuses())
			}
		}
	})
}

func clientOf(c *connection.Connection) connection.OAuth {
	client, _ := c.OAuth()
	return client
}

func TestARevokedConsentIsToldOnceAndShown(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		_, err := e.process().Token(e.Context(), c, connection.Text{})
		e.wantCode(err, domain.Conflict, "connection_needs_consent")
		e.consent(c)
		e.server.Revoke()
		e.age(c, time.Hour)
		for range 3 {
			_, err := e.process().Token(e.Context(), c, connection.Text{})
			e.wantCode(err, domain.Conflict, "connection_needs_consent")
			for _, secret := range []string{oauthtest.WebSecret, "access", "refresh_token="} {
				if strings.Contains(err.Error(), secret) {
					e.Errorf("it shows %s: %v", secret, err)
				}
			}
		}
		if got := fmt.Sprint(e.told()); got != "[connection.needs_consent]" {
			e.Errorf("it is told by %s", got)
		}
		g := e.grant(c)
		if !g.NeedsConsent(clientOf(c)) || g.Failure().Code != connection.ConsentLost || !g.Refresh().IsZero() {
			e.Errorf("%+v", g.Failure())
		}
		e.consent(c)
		if e.server.Call(e.T, e.token(e.process(), c).Reveal()) != http.StatusOK || e.grant(c).Failure() != nil {
			e.Error("another consent did not help")
		}
	})
}

func TestATokenThatTheServiceRefusesIsRenewedOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		e.consent(c)
		s, other := e.process(), e.process()
		first := e.token(s, c)
		again, err := s.Token(e.Context(), c, first)
		if err != nil || !again.Equal(first) || e.server.Refreshes() != 0 {
			e.Errorf("a token that was just issued is renewed: %v", err)
		}
		e.server.RevokeAccessTokens()
		e.age(c, time.Minute)
		for _, who := range []*connections.Tokens{s, other} { // the second one knows only the old one
			next, err := who.Token(e.Context(), c, first)
			if err != nil || next.Equal(first) || e.server.Call(e.T, next.Reveal()) != http.StatusOK {
				e.Fatalf("there is no other token: %v", err)
			}
		}
		if e.server.Refreshes() != 1 {
			e.Errorf("it was renewed %d times", e.server.Refreshes())
		}
	})
}

func TestAServerThatFailsIsLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		e.consent(c)
		e.server.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusBadGateway) })
		e.age(c, 48*time.Minute)
		before := len(e.server.Asked())
		for range 3 {
			if e.server.Call(e.T, e.token(e.process(), c).Reveal()) != http.StatusOK {
				e.Error("what is still good is not used")
			}
		}
		e.age(c, 12*time.Minute)
		e.change(c, func(st *connection.GrantState) {
			later := st.RetryAt.Add(12*time.Minute + 20*time.Second)
			st.RetryAt = &later
		})
		for range 3 {
			_, err := e.process().Token(e.Context(), c, connection.Text{})
			e.wantCode(err, domain.Unavailable, "connection_token_unavailable")
		}
		if n := len(e.server.Asked()) - before; n != 1 {
			e.Errorf("it was asked %d times", n)
		}
		e.server.Intercept(nil)
		e.age(c, time.Minute)
		if e.server.Call(e.T, e.token(e.process(), c).Reveal()) != http.StatusOK || len(e.told()) != 0 {
			e.Error("it is not asked again, or consent was said to be lost")
		}
	})
}

// A process that ends between the server's answer and the store takes the new refresh token with it. Nothing can bring that
// back: the next one shows the old one, and what becomes of it is the server's choice.
func TestAProcessThatEndsInTheMiddleOfARefresh(t *testing.T) {
	t.Parallel()
	for name, lenient := range map[string]bool{"a server that gives a token a second time": true, "a server that ends the consent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, func(e env) {
				c := e.ofPerson()
				e.consent(c)
				if lenient {
					e.server.KeepRefreshTokens()
				}
				e.age(c, time.Hour)
				// What the process did that ended: it took the lease, and the server answered.
				var refresh connection.Text
				e.write(func(ctx context.Context, st outbound.Stores) error {
					g, now, err := st.Grants.Get(ctx, tenant.All(e.owner), c.ID())
					if err != nil {
						return err
					}
					refresh = g.Lease(now).Refresh()
					return st.Grants.Update(ctx, g)
				})
				if _, failure, err := endpoint(e.T).RequestTokens(e.Context(), clientOf(c), outbound.RefreshTokens{Refresh: refresh}); failure != nil || err != nil {
					e.Fatal(failure, err)
				}
				e.age(c, connection.RefreshLease)
				token, err := e.process().Token(e.Context(), c, connection.Text{})
				if lenient {
					if err != nil || e.server.Call(e.T, token.Reveal()) != http.StatusOK {
						e.Errorf("the next process gets no token: %v", err)
					}
					return
				}
				e.wantCode(err, domain.Conflict, "connection_needs_consent")
				if len(e.told()) != 1 {
					e.Errorf("it is told by %v", e.told())
				}
			})
		})
	}
}

func TestAStoreThatFailsForAMomentLosesNoToken(t *testing.T) {
	t.Parallel()
	e := newEnv(t, fixture.OpenSQLite(t))
	c := e.ofPerson()
	e.consent(c)
	e.age(c, time.Hour)
	broken := fixture.NewStore(e.store)
	var failures int
	e.server.Intercept(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		serve.ServeHTTP(w, r)
		broken.FailWith(func(context.Context) error {
			if failures++; failures > 3 {
				return nil
			}
			return domain.Fail(domain.Unavailable, "database_unavailable", "It is gone.")
		})
	})
	s := connections.NewTokens(broken, endpoint(t), system.Clock{}, system.Random{})
	if e.server.Call(t, e.token(s, c).Reveal()) != http.StatusOK || failures <= 3 || e.grant(c).NeedsConsent(clientOf(c)) {
		t.Errorf("after %d failures", failures)
	}
}

func TestAGrantThatNobodyUsesIsRenewed(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		e.consent(c)
		renew := func(want, refreshes int) {
			e.Helper()
			if n, err := e.process().RenewUnused(e.Context()); n != want || err != nil || e.server.Refreshes() != refreshes {
				e.Errorf("%d were renewed by %d refreshes: %v", n, e.server.Refreshes(), err)
			}
		}
		renew(0, 0)
		e.age(c, 24*time.Hour)
		renew(1, 1)
		renew(0, 1)
		e.server.Revoke()
		e.age(c, 24*time.Hour)
		renew(1, 1)
		if fmt.Sprint(e.told()) != "[connection.needs_consent]" {
			e.Errorf("it is told by %v", e.told())
		}
		renew(0, 1)
	})
}
