package noderunner_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// bearing is a credential of a connection to a host whose access token is the text.
func bearing(t *testing.T, at, token string) connection.Credential {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connection.New("conn_01kg2m8w9ax4tsjvnb6ax0c9dz", "tenant_1", connection.Draft{
		Name: "Provider", Kind: connection.OAuth2ClientCredentials, Hosts: []string{u.Host},
		Secret: map[string]any{"tokenUrl": "http://" + u.Host + "/token", "clientId": "app", "clientSecret": "secret"},
	}, func(name string) (string, error) { return name, nil }, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c.CredentialOf(connection.NewText(token))
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		renewed string // empty where there is no other token
		expect  string
		want    []string
		ok      bool
	}{
		"another token is good":        {"token-new", "", []string{"token-old", "token-new"}, true},
		"another token is refused too": {"token-bad", "", []string{"token-old", "token-bad"}, false},
		"there is no other token":      {"token-old", "", []string{"token-old"}, false},
		"there is none at all":         {"", "", []string{"token-old"}, false},
		"401 is what is expected":      {"token-new", `, "expectStatus": "401"`, []string{"token-old"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // what came of it is checked
				if string(body) != `{"a":1}` {
					t.Errorf("the body is %q", body)
				}
				token := r.Header.Get("Authorization")[len("Bearer "):]
				seen = append(seen, token)
				if token != "token-new" {
					w.WriteHeader(http.StatusUnauthorized)
				}
			}))
			defer s.Close()
			call := request(t, `{"method": "POST", "url": "URL", "body": {"a": 1}`+c.expect+`}`, s.URL)
			call.Credential = bearing(t, s.URL, "token-old")
			call.RenewCredential = func(_ context.Context, refused connection.Text) (connection.Credential, error) {
				if refused.Reveal() != "token-old" {
					t.Error("another token was said to be refused")
				}
				if c.renewed == "" {
					return connection.Credential{}, errors.New("there is none")
				}
				return bearing(t, s.URL, c.renewed), nil
			}
			got, err := bearingRunner(t).Run(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := got.(outbound.NodeCompleted); ok != c.ok || !slices.Equal(seen, c.want) {
				t.Errorf("%+v after %q", got, seen)
			}
		})
	}
}

// bearingRunner calls hosts of this machine with credentials.
func bearingRunner(t *testing.T) *noderunner.Runner {
	t.Helper()
	g := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(g.Close)
	return noderunner.New(noderunner.Options{
		Clock: &portstest.ManualClock{}, Follow: g.Client(egress.Follow), Stay: g.Client(egress.Stay), UserAgent: "Sluice/test",
		Bearing: func(c connection.Credential, follow bool) noderunner.Caller {
			return g.Bearing(c, egress.Redirects(follow))
		},
	})
}
