// Package oidc is the driven adapter by which people sign in with OpenID Connect (Core 1.0): the code flow with PKCE,
// by coreos/go-oidc. What a provider offers is asked for when it is first needed, so that a gateway starts while the
// provider is away.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Timeout is how long a provider has for all that is asked of it at a time.
const Timeout = 15 * time.Second

// Settings are what a provider knows the gateway by.
type Settings struct {
	Issuer       string
	ClientID     string
	ClientSecret string        // empty for a public client
	RedirectURL  func() string // where people come back to; known before the first of them leaves

	// Domains are those that the verified addresses of people have to be of; none for any.
	Domains []string
}

// takes says whether somebody has an address of an allowed domain.
func (s Settings) takes(who outbound.Identity) bool {
	if len(s.Domains) == 0 {
		return true
	}
	_, host, _ := strings.Cut(who.Email, "@")
	return who.EmailVerified && slices.ContainsFunc(s.Domains, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// Provider implements outbound.IdentityProvider. It is safe for concurrent use. The zero value is none.
type Provider struct {
	settings Settings
	timeout  time.Duration
	client   *http.Client

	mu    sync.Mutex
	found *discovered

	asking singleflight.Group
}

var _ outbound.IdentityProvider = (*Provider)(nil)

// New returns a provider that nothing is asked of yet.
func New(settings Settings) *Provider {
	return &Provider{settings: settings, timeout: Timeout, client: boundedClient(Timeout)}
}

// Within gives the provider less time, or more.
func (p *Provider) Within(timeout time.Duration) *Provider {
	p.timeout, p.client = timeout, boundedClient(timeout)
	return p
}

// Enabled says whether there is one.
func (p *Provider) Enabled() bool { return p.settings.Issuer != "" }

// discovered is what a provider offers.
type discovered struct {
	provider *gooidc.Provider
	verifier *gooidc.IDTokenVerifier
	oauth    oauth2.Config
}

// AuthorizationURL asks for what it needs to know of somebody, and no more.
func (p *Provider) AuthorizationURL(ctx context.Context, asked outbound.SignInRequest) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	found, err := p.discover(bounded)
	if err != nil {
		return "", stopped(ctx, err)
	}
	return found.oauth.AuthCodeURL(asked.State, gooidc.Nonce(asked.Nonce), oauth2.S256ChallengeOption(asked.Verifier)), nil
}

// Exchange asks for the tokens of a code, and checks what they say.
func (p *Provider) Exchange(ctx context.Context, code string, asked outbound.SignInRequest) (outbound.Identity, error) {
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	found, err := p.discover(bounded)
	if err != nil {
		return outbound.Identity{}, stopped(ctx, err)
	}
	calling := gooidc.ClientContext(bounded, p.client)
	tokens, err := found.oauth.Exchange(calling, code, oauth2.VerifierOption(asked.Verifier))
	if err != nil {
		return outbound.Identity{}, stopped(ctx, explain(err))
	}
	who, err := found.identify(calling, tokens, p.settings.ClientID, asked.Nonce)
	if err == nil && !p.settings.takes(who) {
		return outbound.Identity{}, refused(errors.New("the provider has verified no address of an allowed domain"))
	}
	return who, stopped(ctx, err)
}

// discover asks what the provider offers until it has said so once. All who need it wait for one answer, so that a
// provider that is away is asked once at a time; that somebody waits no more does not stop it for the others.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	asked := p.asking.DoChan("", func() (any, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		return p.ask(bounded)
	})
	select {
	case answer := <-asked:
		found, _ = answer.Val.(*discovered)
		return found, answer.Err
	case <-ctx.Done():
		return nil, unavailable(errors.New("the provider did not say in time what it offers"))
	}
}

// ask asks for it.
func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	provider, err := gooidc.NewProvider(gooidc.ClientContext(ctx, p.client), p.settings.Issuer)
	if err != nil {
		return nil, unavailable(errors.New("what the provider offers cannot be read, or it is another issuer"))
	}
	var offers struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&offers); err != nil {
		return nil, unavailable(errors.New("what the provider offers cannot be read"))
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the standard's default
	if p.settings.ClientSecret == "" || len(offers.Methods) > 0 && !slices.Contains(offers.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	found := &discovered{
		provider: provider, verifier: provider.Verifier(&gooidc.Config{ClientID: p.settings.ClientID}),
		oauth: oauth2.Config{
			ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, RedirectURL: p.settings.RedirectURL(),
			Endpoint: endpoint, Scopes: []string{gooidc.ScopeOpenID, "email", "profile"},
		},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = found
	return found, nil
}

// stopped is the cause where nobody waits any more, and the error otherwise.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("oidc: the sign-in was stopped: %w", context.Cause(ctx))
	}
	return err
}

// explain says why there are no tokens. What servers answer is not passed on: it may repeat what they were sent.
func explain(err error) error {
	var answered *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answered):
		return unavailable(errors.New("the provider gave no tokens that can be read"))
	case answered.ErrorCode == "invalid_grant":
		return refused(errors.New("the provider answered invalid_grant"))
	default:
		return unavailable(fmt.Errorf("the provider answered %d instead of tokens", answered.Response.StatusCode))
	}
}

func unavailable(cause error) error {
	return domain.Fail(domain.Unavailable, "identity_provider_unavailable", "The identity provider does not answer as it should. Try again later.").Because(cause)
}

func refused(cause error) error {
	return domain.Fail(domain.Unauthenticated, "identity_refused", "The identity provider does not say that it is you. Sign in again.").Because(cause)
}
