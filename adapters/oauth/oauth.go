// Package oauth is the driven adapter that asks authorization servers for tokens, by
// golang.org/x/oauth2. That package repeats nothing once the client's way of showing its secret is
// said, keeps no tokens and refreshes none by itself here: when to ask, and who does, is decided by the
// use cases.
//
// What servers answer is never passed on: it may repeat a secret.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Timeout is how long a server has for its answer. It is well below the lease under which tokens are
// asked for.
const Timeout = 20 * time.Second

const (
	maxToken = 16 << 10 // bytes
	maxLife  = 10 * 365 * 24 * time.Hour
)

// TokenEndpoint implements outbound.TokenEndpoint. It is safe for concurrent use.
type TokenEndpoint struct {
	client  *http.Client
	timeout time.Duration
}

var _ outbound.TokenEndpoint = (*TokenEndpoint)(nil)

// New returns one that calls through a client, which must bound the size of answers and must not follow
// redirects: what is sent holds secrets.
func New(client *http.Client) *TokenEndpoint {
	return &TokenEndpoint{client: client, timeout: Timeout}
}

// Within gives servers less time, or more.
func (e *TokenEndpoint) Within(timeout time.Duration) *TokenEndpoint {
	e.timeout = timeout
	return e
}

// RequestTokens makes one request.
func (e *TokenEndpoint) RequestTokens(ctx context.Context, client connection.OAuth, by outbound.TokenGrant) (issued connection.IssuedTokens, failure *connection.TokenFailure, err error) {
	bounded, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	host := "The authorization server"
	if u, err := url.Parse(client.TokenURL); err == nil && u.Host != "" {
		host = domain.Clip(u.Host, maxHost)
	}
	token, err := e.ask(context.WithValue(bounded, oauth2.HTTPClient, e.jsonClient()), client, by)
	switch {
	case err == nil:
		issued, failure = read(host, token)
		return issued, failure, nil
	case ctx.Err() != nil:
		return issued, nil, fmt.Errorf("oauth: the request for tokens was stopped: %w", context.Cause(ctx))
	case bounded.Err() != nil:
		return issued, serverFailed("%s did not answer within %s.", host, e.timeout), nil
	default:
		_, refreshing := by.(outbound.RefreshTokens)
		return issued, explain(host, err, refreshing), nil
	}
}

const maxHost = 255 // characters

func (e *TokenEndpoint) ask(ctx context.Context, client connection.OAuth, by outbound.TokenGrant) (*oauth2.Token, error) {
	style := oauth2.AuthStyleInHeader
	if client.AuthStyle == connection.AuthInBody || client.ClientSecret.IsZero() { // a public client has nothing for the header
		style = oauth2.AuthStyleInParams
	}
	c := oauth2.Config{
		ClientID: client.ClientID, ClientSecret: client.ClientSecret.Reveal(),
		Endpoint: oauth2.Endpoint{TokenURL: client.TokenURL, AuthStyle: style},
	}
	switch by := by.(type) {
	case outbound.AuthorizationCode:
		c.RedirectURL = by.RedirectURI
		return c.Exchange(ctx, by.Code.Reveal(), oauth2.VerifierOption(by.Verifier.Reveal()))
	case outbound.RefreshTokens:
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: by.Refresh.Reveal()}).Token()
	default:
		own := clientcredentials.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: client.TokenURL, Scopes: client.Scopes, AuthStyle: style,
		}
		if client.Audience != "" {
			own.EndpointParams = url.Values{"audience": {client.Audience}}
		}
		return own.Token(ctx)
	}
}

// jsonClient asks for JSON, which some servers give only when they are asked for it.
func (e *TokenEndpoint) jsonClient() *http.Client {
	c := *e.client
	c.Transport = accepting{c.Transport}
	return &c
}

type accepting struct{ http.RoundTripper }

// RoundTrip adds the header.
func (a accepting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	return a.RoundTripper.RoundTrip(req)
}

// read checks what came.
func read(host string, t *oauth2.Token) (issued connection.IssuedTokens, failure *connection.TokenFailure) {
	for _, text := range []string{t.AccessToken, t.RefreshToken} {
		if len(text) > maxToken {
			return issued, serverFailed("%s gave a token of more than %d bytes.", host, maxToken)
		}
	}
	if strings.ContainsFunc(t.AccessToken, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return issued, serverFailed("%s gave a token that cannot be sent in a header.", host)
	}
	issued = connection.IssuedTokens{Access: connection.NewText(t.AccessToken), RefreshLife: refreshLife(t)}
	if t.RefreshToken != "" {
		issued.Refresh = connection.NewText(t.RefreshToken)
	}
	if !t.Expiry.IsZero() {
		// One that has ended already is no token, but its server's clock may only be slow.
		issued.Life = min(max(time.Until(t.Expiry).Round(time.Second), time.Second), maxLife)
	}
	if scopes, ok := t.Extra("scope").(string); ok && strings.TrimSpace(scopes) != "" {
		// RFC 6749 separates them by spaces; some servers write commas.
		issued.Scopes = strings.FieldsFunc(domain.Clip(scopes, maxScopes), func(c rune) bool { return c == ' ' || c == ',' })
	}
	return issued, nil
}

const maxScopes = 4 << 10 // characters

// refreshLife reads how long a refresh token lives, which no standard names: as Keycloak and as GitHub, TikTok
// and others say it.
func refreshLife(t *oauth2.Token) time.Duration {
	for _, name := range []string{"refresh_expires_in", "refresh_token_expires_in"} {
		var seconds float64
		switch v := t.Extra(name).(type) {
		case float64:
			seconds = v
		case string:
			seconds, _ = strconv.ParseFloat(v, 64) // what cannot be read is not said
		case int64:
			seconds = float64(v)
		}
		if seconds > 0 {
			return time.Duration(min(seconds, maxLife.Seconds())) * time.Second
		}
	}
	return 0
}

// refusals are the errors by which a server says that the client, or what it asks for, is at fault (RFC 6749,
// §5.2, and RFC 8707).
var refusals = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true,
	"invalid_scope": true, "invalid_target": true, "access_denied": true,
}

// lost are the errors by which servers say that a refresh token is not good any more: that of the standard,
// GitHub's and Slack's.
var lost = map[string]bool{"invalid_grant": true, "bad_refresh_token": true, "invalid_refresh_token": true}

// transient are the errors of a server that may succeed later.
var transient = map[string]bool{"temporarily_unavailable": true, "server_error": true, "slow_down": true}

func explain(host string, err error, refreshing bool) *connection.TokenFailure {
	var answered *oauth2.RetrieveError
	var known *domain.Error
	switch {
	case errors.As(err, &known): // of the client: what it refuses, and the network
		return serverFailed("%s", known.Message)
	case !errors.As(err, &answered):
		return serverFailed("%s could not be reached, or gave no answer that can be read.", host)
	}
	status, code := answered.Response.StatusCode, answered.ErrorCode
	switch {
	case refreshing && lost[code]:
		return &connection.TokenFailure{Code: connection.ConsentLost, Message: host + " does not accept the refresh token any more (" + code + ")."}
	case refusals[code]:
		return &connection.TokenFailure{Code: connection.ClientRefused, Message: host + " answered " + code + "."}
	case transient[code] || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500 || 300 <= status && status < 400:
		return serverFailed("%s answered %d.", host, status)
	case status < 300:
		return serverFailed("%s answered %d without a token.", host, status)
	default:
		return &connection.TokenFailure{Code: connection.ClientRefused, Message: fmt.Sprintf("%s answered %d.", host, status)}
	}
}

func serverFailed(format string, args ...any) *connection.TokenFailure {
	return &connection.TokenFailure{Code: connection.ServerFailed, Message: fmt.Sprintf(format, args...)}
}
