package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// A stream of a run that only waits, with the whole gateway behind it: nothing would
// ever end it but what happens to its key and its tenant.
func TestAStreamEndsWithItsKeyAndItsTenant(t *testing.T) {
	const refused, gone, signedOut, noMember = `"code":"unauthenticated"`, `"code":"run_not_found"`, `"code":"signed_out"`, `"code":"tenant_not_found"`
	for claim, c := range map[string]struct {
		happens func(g *gateway, e fixture, s somebody)
		want    string
	}{
		"the session is revoked": {func(g *gateway, _ fixture, s somebody) {
			g.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Sessions.DeleteOthers(ctx, s.user, "")
			})
		}, signedOut},
		"the membership ends": {func(g *gateway, e fixture, s somebody) {
			g.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Memberships.Delete(ctx, e.id, s.member)
			})
		}, noMember},
		"the key is revoked":  {func(g *gateway, e fixture, _ somebody) { g.revoke(e.customer) }, refused},
		"the key has expired": {func(g *gateway, _ fixture, _ somebody) { g.clock.Set(noon.Add(time.Hour)) }, refused},
		"the tenant is suspended": {func(g *gateway, e fixture, _ somebody) {
			g.must(g.tenants().Suspend(g.Context(), domain.IdempotencyKey{}, e.id))
		}, refused},
		"the tenant is deleted": {func(g *gateway, e fixture, _ somebody) {
			if err := g.tenants().Delete(g.Context(), e.id, domain.Expected{}); err != nil {
				g.Error(err)
			}
		}, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			httpapi.ConfirmInterval(g.api, 20*time.Millisecond)
			e := g.fixture("Acme")
			g.addRuns(e)
			expires := noon.Add(time.Minute)
			issued, err := tenants.NewKeys(g.store, g.clock, g.random).Issue(t.Context(), tenant.Operator(e.id), domain.IdempotencyKey{}, tenant.KeyDraft{Type: tenant.Secret, ExpiresAt: &expires})
			if err != nil {
				t.Fatal(err)
			}
			key := e.secret
			if strings.Contains(claim, "expired") {
				key = issued.Text.Reveal()
			}
			server := httptest.NewServer(g.api)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			s, path := g.member(e.id, tenant.ViewerRole), "/v1/gateway/runs/"+e.ids["runs"]+"/stream"
			if c.want == signedOut || c.want == noMember {
				path = membersPath(e.id, path)
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if request.Header.Set("Cookie", s.cookie()); path[:3] == "/v1" {
				request.Header.Set("X-API-Key", key)
			}
			answer, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }() // it is read to its end
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("got %d", answer.StatusCode)
			}
			c.happens(g, e, s)
			text, err := io.ReadAll(answer.Body)
			_, last, _ := strings.Cut(string(text), "event: closed\n")
			if err != nil || !strings.Contains(last, c.want) || c.want == "" && !strings.Contains(last, refused) && !strings.Contains(last, gone) {
				t.Errorf("it ends with %q: %v", last, err)
			}
		})
	}
}

func (g *gateway) must(_ any, err error) {
	g.Helper()
	if err != nil {
		g.Error(err)
	}
}
