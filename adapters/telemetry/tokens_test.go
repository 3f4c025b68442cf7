package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

// answering is an authorization server that ends as it is told.
type answering struct {
	issued  connection.IssuedTokens
	failure *connection.TokenFailure
	err     error
}

func (a answering) RequestTokens(context.Context, connection.OAuth, outbound.TokenGrant) (connection.IssuedTokens, *connection.TokenFailure, error) {
	return a.issued, a.failure, a.err
}

func TestEachRequestForTokensIsCountedAsWhatItWas(t *testing.T) {
	for result, a := range map[string]answering{
		"issued":         {issued: connection.IssuedTokens{Access: connection.NewText("a")}},
		"client_refused": {failure: &connection.TokenFailure{Code: connection.ClientRefused}},
		"server_failed":  {failure: &connection.TokenFailure{Code: connection.ServerFailed}},
		"consent_lost":   {failure: &connection.TokenFailure{Code: connection.ConsentLost}},
		"aborted":        {err: errors.New("the process stops")},
	} {
		for grant, by := range map[string]outbound.TokenGrant{
			"client": outbound.ClientCredentials{}, "consent": outbound.AuthorizationCode{}, "refresh": outbound.RefreshTokens{},
		} {
			if result == "consent_lost" && grant != "refresh" { // the port excludes it
				continue
			}
			m := telemetry.New("test")
			before := shown(t, m, "sluice_oauth_token_requests_total")
			issued, failure, err := m.TokenEndpoint(a).RequestTokens(t.Context(), connection.OAuth{}, by)
			if !issued.Access.Equal(a.issued.Access) || failure != a.failure || !errors.Is(err, a.err) {
				t.Errorf("%s %s: the outcome became %v, %v", grant, result, failure, err)
			}
			series := `sluice_oauth_token_requests_total{grant="` + grant + `",result="` + result + `"} `
			if i := slices.Index(before, series+"0"); i < 0 {
				t.Errorf("there is no %s before it is counted", series)
			} else {
				before[i] = series + "1"
			}
			if after := shown(t, m, "sluice_oauth_token_requests_total"); !slices.Equal(after, before) {
				t.Errorf("%s %s: it is counted as %v", grant, result, after)
			}
		}
	}
}
