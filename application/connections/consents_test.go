package connections_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/connections"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// later is a clock that is ahead.
type later struct{ by time.Duration }

func (c later) Now() time.Time { return system.Clock{}.Now().Add(c.by) }

func TestWhoeverTricksTheCallbackGetsNothing(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]struct {
		try  func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents)
		kind domain.Kind
		code string
	}{
		"a state that never was": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			back := e.comeBack(e.open(c))
			back.OAuthState = connection.SecretDigest(connection.NewText("never")) + "." + connection.SecretDigest(back.Key)
			return back, nil
		}, domain.NotFound, "consent_ended"},
		"no state": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			back := e.comeBack(e.open(c))
			back.OAuthState = ""
			return back, nil
		}, domain.NotFound, "consent_ended"},
		"a state that was used": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			page := e.open(c)
			if _, err := e.consents().Complete(e.Context(), inbound.ConsentAnswer{OAuthState: page.OAuthState, Key: page.Key, Error: "access_denied"}); domain.KindOf(err) != domain.Conflict {
				e.Fatal(err)
			}
			return e.comeBack(page), nil
		}, domain.NotFound, "consent_ended"},
		"another browser, without the cookie": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			back := e.comeBack(e.open(c))
			back.Key = connection.Text{}
			return back, nil
		}, domain.NotFound, "consent_ended"},
		"another browser that opened the same link": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			link := e.link(c)
			back := e.comeBack(e.openLink(link))
			back.Key = e.openLink(link).Key
			return back, nil
		}, domain.NotFound, "consent_ended"},
		"a code that another browser asked for": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			link := e.link(c)
			victim, own := e.comeBack(e.openLink(link)), e.openLink(link)
			return inbound.ConsentAnswer{OAuthState: own.OAuthState, Key: own.Key, Code: victim.Code}, nil
		}, domain.Conflict, "consent_failed"},
		"a code for another connection": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			victim, own := e.comeBack(e.open(e.ofPerson())), e.open(c)
			return inbound.ConsentAnswer{OAuthState: own.OAuthState, Key: own.Key, Code: victim.Code}, nil
		}, domain.Conflict, "consent_failed"},
		"an answer of another authorization server": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			back := e.comeBack(e.open(c))
			back.Issuer = "https://honest.example.com"
			return back, nil
		}, domain.Conflict, "consent_failed"},
		"a code that comes too late": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			late := connections.NewConsents(e.store, endpoint(e.T), later{connection.ConsentLife}, system.Random{}, func() string { return public })
			return e.comeBack(e.open(c)), late
		}, domain.NotFound, "consent_ended"},
		"a person who refuses": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			e.server.RefuseConsent()
			return e.comeBack(e.open(c)), nil
		}, domain.Conflict, "consent_refused"},
		"an error that shows markup": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			page := e.open(c)
			return inbound.ConsentAnswer{OAuthState: page.OAuthState, Key: page.Key, Error: "<script>alert(1)</script>"}, nil
		}, domain.Conflict, "consent_failed"},
		"a connection that has become another client's": {func(e env, c *connection.Connection) (inbound.ConsentAnswer, *connections.Consents) {
			back := e.comeBack(e.open(c))
			e.reviseClient(c, "another-client")
			return back, nil
		}, domain.NotFound, "consent_ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, fixture.OpenSQLite(t))
			c := e.ofPerson()
			back, by := attack.try(e, c)
			if by == nil {
				by = e.consents()
			}
			_, err := by.Complete(t.Context(), back)
			e.wantCode(err, attack.kind, attack.code)
			for _, text := range []string{"<script", back.Code.Reveal(), back.Key.Reveal(), "honest.example.com"} {
				if text != "" && strings.Contains(err.Error(), text) {
					t.Errorf("the error repeats %q: %v", text, err)
				}
			}
			state, err := e.consents().State(t.Context(), e.caller(), c.ID())
			if err != nil || !state.NeedsConsent || state.Grant.IssuedAt() != nil {
				t.Errorf("there is a grant: %+v %v", state, err)
			}
		})
	}
}

func TestOfTwoWhoBringTheSameStateOneIsHeard(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(e env) {
		c := e.ofPerson()
		back := e.comeBack(e.open(c))
		errs := make([]error, 4)
		var done sync.WaitGroup
		for i := range errs {
			done.Go(func() { _, errs[i] = e.consents().Complete(e.Context(), back) })
		}
		done.Wait()
		heard := 0
		for _, err := range errs {
			if err == nil {
				heard++
				continue
			}
			e.wantCode(err, domain.NotFound, "consent_ended")
		}
		if heard != 1 || len(e.server.Asked()) != 1 {
			e.Errorf("%d were heard, and the server was asked %d times", heard, len(e.server.Asked()))
		}
		if e.server.Call(e.T, e.token(e.process(), c).Reveal()) != http.StatusOK {
			e.Error("the token is not good")
		}
	})
}

func TestOnlyWhoMaySeesAConnectionAsksForConsent(t *testing.T) {
	t.Parallel()
	e := newEnv(t, fixture.OpenSQLite(t))
	c, other := e.ofPerson(), newEnv(t, e.store)
	for name, w := range map[string]struct {
		who  tenant.Caller
		of   *connection.Connection
		kind domain.Kind
		code string
	}{
		"another tenant":               {other.caller(), c, domain.NotFound, "connection_not_found"},
		"another segment":              {tenant.Caller{Scope: tenant.Only(e.owner, "team"), KeyType: tenant.Secret}, c, domain.NotFound, "connection_not_found"},
		"a connection that needs none": {e.caller(), e.ofClient(), domain.Conflict, "connection_needs_no_consent"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.consents().Authorize(t.Context(), w.who, domain.IdempotencyKey{}, w.of.ID())
			env{t, e.store, e.server, e.owner}.wantCode(err, w.kind, w.code)
		})
	}
	_, err := e.consents().Authorize(t.Context(), tenant.Caller{Scope: tenant.All(e.owner), KeyType: tenant.Public}, domain.IdempotencyKey{}, c.ID())
	if domain.KindOf(err) != domain.Forbidden {
		t.Errorf("with a public key: %v", err)
	}
}
