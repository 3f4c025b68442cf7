package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What tokens were asked for with.
const (
	grantClient  = "client"  // the client's own credentials
	grantConsent = "consent" // what a person's consent gave
	grantRefresh = "refresh" // a refresh token
)

// How a request for tokens ended, where it did not fail with a code of [connection.FailureCode].
const (
	tokensIssued  = "issued"
	tokensAborted = "aborted" // nobody knows what the server did
)

func newTokens(register promauto.Factory) *prometheus.CounterVec {
	requests := register.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "oauth_token_requests_total",
		Help: "Requests for tokens to authorization servers of connections, by what they showed and how they ended.",
	}, []string{"grant", "result"})
	for _, grant := range []string{grantClient, grantConsent, grantRefresh} {
		for _, result := range []string{tokensIssued, string(connection.ClientRefused), string(connection.ServerFailed), tokensAborted} {
			requests.WithLabelValues(grant, result)
		}
	}
	requests.WithLabelValues(grantRefresh, string(connection.ConsentLost))
	return requests
}

// TokenEndpoint returns one that does what the given one does, and counts how each request
// ends.
func (m *Metrics) TokenEndpoint(endpoint outbound.TokenEndpoint) outbound.TokenEndpoint {
	return countedTokens{endpoint, m}
}

type countedTokens struct {
	endpoint outbound.TokenEndpoint
	metrics  *Metrics
}

// RequestTokens counts how it ends.
func (t countedTokens) RequestTokens(ctx context.Context, client connection.OAuth, by outbound.TokenGrant) (connection.IssuedTokens, *connection.TokenFailure, error) {
	issued, failure, err := t.endpoint.RequestTokens(ctx, client, by)
	result := tokensIssued
	switch {
	case err != nil:
		result = tokensAborted
	case failure != nil:
		result = string(failure.Code)
	}
	t.metrics.tokens.WithLabelValues(grantLabel(by), result).Inc()
	return issued, failure, err
}

func grantLabel(by outbound.TokenGrant) string {
	switch by.(type) {
	case outbound.AuthorizationCode:
		return grantConsent
	case outbound.RefreshTokens:
		return grantRefresh
	default:
		return grantClient
	}
}
