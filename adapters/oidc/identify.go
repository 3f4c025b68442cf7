package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/sluicehq/sluice/ports/outbound"
)

// claims are what a provider says of somebody.
type claims struct {
	Party         string `json:"azp"` // for which client it was issued, of several that may read it
	Email         string `json:"email"`
	EmailVerified any    `json:"email_verified"` // some providers write "true"
	Name          string `json:"name"`
}

// identify checks the token that says who it is, and asks for the address where that is not in it.
func (d *discovered) identify(ctx context.Context, tokens *oauth2.Token, client, nonce string) (who outbound.Identity, err error) {
	text, ok := tokens.Extra("id_token").(string)
	if !ok {
		return who, refused(errors.New("the provider gave no ID token"))
	}
	token, err := d.verifier.Verify(ctx, text)
	if err != nil {
		return who, refused(errors.New("the ID token is not one of the provider for this client and this time"))
	}
	var said claims
	if err := token.Claims(&said); err != nil {
		return who, refused(errors.New("the ID token cannot be read"))
	}
	switch {
	case token.Subject == "":
		return who, refused(errors.New("the ID token is of nobody"))
	case nonce == "" || subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		return who, refused(errors.New("the ID token is of another sign-in"))
	case said.Party != "" && said.Party != client, said.Party == "" && len(token.Audience) > 1:
		return who, refused(errors.New("the ID token was issued for another client"))
	case token.AccessTokenHash != "" && token.VerifyAccessToken(tokens.AccessToken) != nil:
		return who, refused(errors.New("the ID token is of another access token"))
	}
	if said.Email == "" && d.provider.UserInfoEndpoint() != "" {
		if said, err = d.ask(ctx, tokens, token.Subject); err != nil {
			return who, err
		}
	}
	return outbound.Identity{
		Issuer: token.Issuer, Subject: token.Subject, Email: said.Email, Name: said.Name,
		EmailVerified: said.Email != "" && (said.EmailVerified == true || said.EmailVerified == "true"),
	}, nil
}

// ask asks who has the access token, which must be the same person (OpenID Connect Core 1.0, §5.3.2).
func (d *discovered) ask(ctx context.Context, tokens *oauth2.Token, subject string) (said claims, err error) {
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return said, unavailable(errors.New("the provider does not say who has the access token"))
	}
	if info.Subject != subject {
		return said, refused(errors.New("the access token is of somebody else"))
	}
	if err := info.Claims(&said); err != nil {
		return said, unavailable(errors.New("what the provider says of somebody cannot be read"))
	}
	return said, nil
}

// maxAnswer is how much a provider may answer, in bytes.
const maxAnswer = 1 << 20

// boundedClient follows no redirect: what is sent holds secrets.
func boundedClient(timeout time.Duration) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	return &http.Client{
		Timeout: timeout, Transport: bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type bounded struct{ http.RoundTripper }

// RoundTrip bounds the answer.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}
