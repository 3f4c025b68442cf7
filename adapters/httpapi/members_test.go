package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestTheConsolesRoutesAreThoseOfItsDescriptionAndOfTheAPIs(t *testing.T) {
	g := newGateway(t)
	served, described := make(map[string]bool), make(map[string]bool)
	for _, r := range httpapi.ConsoleRoutes(g.api) {
		if r.Method != http.MethodHead {
			served[r.Method+" "+r.Path] = true
		}
	}
	for _, r := range contract.Of(t, console.YAML()).Routes() {
		described[r.Method+" "+r.Path] = true
	}
	for r := range httpapi.Operations(g.api) {
		described[r.Method+" "+membersPath("{tenantId}", r.Path)] = true
	}
	for _, r := range operatorRoutes(g) {
		described[r.Method+" "+strings.Replace(r.Path, "/v1/operator", "/console/api/operator", 1)] = true
	}
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("(-described, +served):\n%s", diff)
	}
	if got := g.send(http.MethodGet, "/console/api/openapi.yaml", "", ""); got.status != http.StatusOK || got.body != string(console.YAML()) {
		t.Errorf("the description is %d: %s", got.status, got.body)
	}
}

func TestEachRoleMayWhatTheTableSays(t *testing.T) {
	g := newGateway(t)
	e, elsewhere := g.fixture("Acme"), g.customer("Elsewhere")
	g.addRuns(e)
	people := map[string]somebody{"nobody's member": g.signedIn(false), "an operator": g.signedIn(true), "a member of another tenant": g.member(elsewhere.id, tenant.AdminRole)}
	for _, role := range tenant.Roles() {
		people[string(role)] = g.member(e.id, role)
	}
	operations := httpapi.MemberOperations(g.api)
	for i, r := range routesOfMembers(g) {
		g.clock.Set(noon.Add(time.Duration(i) * time.Second))
		targets, body, ok := absent(e).requests(r)
		if !ok {
			t.Errorf("%s %s has a parameter that this test cannot fill", r.Method, r.Path)
			continue
		}
		least := leastRole(operations[r])
		path := membersPath(e.id, targets[0])
		for name, s := range people {
			got := g.by(s, r.Method, path, body)
			role := tenant.Role(name)
			switch {
			case !role.Valid():
				if got.status != http.StatusNotFound || got.field(t, "code") != "tenant_not_found" {
					t.Errorf("%s %s by %s got %d: %s", r.Method, r.Path, name, got.status, got.body)
				}
			case (got.status == http.StatusForbidden) == role.Includes(least) || got.status == http.StatusUnauthorized:
				t.Errorf("%s %s by a %s, which takes %s, got %d: %s", r.Method, r.Path, name, least, got.status, got.body)
			}
		}
		for key, want := range map[string]string{"": "signed_out", e.secret: "signed_out", e.public: "signed_out"} {
			if got := g.send(r.Method, path, key, body); got.status != http.StatusUnauthorized || got.field(t, "code") != want {
				t.Errorf("%s %s with the key %q and no session got %d: %s", r.Method, path, key, got.status, got.body)
			}
		}
		if isOfConsoleOnly(strings.TrimPrefix(r.Path, "/v1/gateway")) {
			if got := g.send(r.Method, targets[0], e.secret, body); got.status != http.StatusNotFound || got.field(t, "code") != "route_not_found" {
				t.Errorf("%s %s with a key got %d: %s", r.Method, targets[0], got.status, got.body)
			}
		}
		if got := g.by(people["admin"], r.Method, targets[0], body); got.status != http.StatusUnauthorized || got.field(t, "code") != "unauthenticated" {
			t.Errorf("%s %s with a cookie and no key got %d: %s", r.Method, targets[0], got.status, got.body)
		}
		if r.Method == http.MethodGet {
			continue
		}
		for _, site := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
			if got := g.by(people["admin"], r.Method, path, body, site...); got.status != http.StatusForbidden || got.field(t, "code") != "cross_site_request" {
				t.Errorf("%s %s from another site (%v) got %d: %s", r.Method, path, site, got.status, got.body)
			}
		}
	}
}

// leastRole is the role that an operation takes.
func leastRole(o tenant.Operation) tenant.Role {
	i := slices.IndexFunc(tenant.Permissions(), func(p tenant.Permission) bool { return p.Operation == o })
	return tenant.Permissions()[i].Role
}

func TestAMemberFindsNoByteOfAnotherTenant(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.customer("Mine"), g.fixture("Theirs")
	g.addRuns(theirs)
	admin, none := g.member(mine.id, tenant.AdminRole), absent(theirs)
	g.member(theirs.id, tenant.AdminRole)
	for i, r := range routesOfMembers(g) {
		g.clock.Set(noon.Add(time.Duration(i) * 3 * time.Second))
		targets, body, ok := theirs.requests(r)
		if !ok {
			t.Errorf("%s %s has a parameter that this test cannot fill", r.Method, r.Path)
			continue
		}
		g.findsNothing(r, func(method, target, body string) answer {
			return g.by(admin, method, membersPath(mine.id, target), body, "X-Request-Id", "same")
		}, targets, body, theirs, none)
	}
	g.isWhole(theirs)
	if all := g.by(g.member(theirs.id, tenant.AdminRole), http.MethodGet, membersPath(theirs.id, "/members"), ""); all.field(t, "total") != 3.0 || !strings.Contains(all.body, theirs.marker()) {
		t.Errorf("their members are %s after all that", all.body)
	}
}

func TestWhatAMemberMayEndsEverywhereAtOnce(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	path := membersPath(c.id, "/settings")
	for claim, change := range map[string]struct {
		happens func(ctx context.Context, st outbound.Stores, s somebody) error
		want    int
	}{
		"the session is revoked": {func(ctx context.Context, st outbound.Stores, s somebody) error {
			return st.Members.Sessions.DeleteOthers(ctx, s.user, "")
		}, http.StatusUnauthorized},
		"the user is disabled": {func(ctx context.Context, st outbound.Stores, s somebody) error {
			u, err := st.Members.Users.Get(ctx, s.user)
			if err != nil {
				return err
			}
			u.Disable(noon)
			return st.Members.Users.Update(ctx, u)
		}, http.StatusUnauthorized},
		"the membership ends": {func(ctx context.Context, st outbound.Stores, s somebody) error {
			return st.Members.Memberships.Delete(ctx, c.id, s.member)
		}, http.StatusNotFound},
		"the role changes": {func(ctx context.Context, st outbound.Stores, s somebody) error {
			m, err := st.Members.Memberships.Get(ctx, c.id, s.member)
			if err != nil {
				return err
			}
			if err := m.Membership.Change(tenant.ViewerRole); err != nil {
				return err
			}
			return st.Members.Memberships.Update(ctx, m.Membership)
		}, http.StatusForbidden},
	} {
		s := g.member(c.id, tenant.AdminRole)
		other := g.another()
		for _, one := range []*gateway{g, other} {
			if got := one.by(s, http.MethodPatch, path, `{"language":"es"}`); got.status != http.StatusOK {
				t.Fatalf("%s: before that got %d: %s", claim, got.status, got.body)
			}
		}
		g.write(func(ctx context.Context, st outbound.Stores) error { return change.happens(ctx, st, s) })
		for _, one := range []*gateway{g, other} {
			if got := one.by(s, http.MethodPatch, path, `{"language":"es"}`); got.status != change.want {
				t.Errorf("%s: after that got %d: %s", claim, got.status, got.body)
			}
		}
	}
	s := g.member(c.id, tenant.AdminRole)
	if _, err := g.tenants().Suspend(t.Context(), domain.IdempotencyKey{}, c.id); err != nil {
		t.Fatal(err)
	}
	if got := g.by(s, http.MethodGet, path, ""); got.status != http.StatusNotFound {
		t.Errorf("the tenant is suspended: got %d: %s", got.status, got.body)
	}
}

func TestASessionHasRequestsOfItsOwn(t *testing.T) {
	g := newGateway(t)
	c, other := g.customer("Acme"), g.customer("Other")
	s := g.member(c.id, tenant.ViewerRole)
	ask := func(owner tenant.ID) answer {
		return g.by(s, http.MethodGet, membersPath(owner, "/workflows?limit=1"), "")
	}
	if got := g.by(s, http.MethodGet, "/console/api/sessions", ""); got.status != http.StatusOK {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	for i := range 598 {
		if owner := []tenant.ID{c.id, other.id}[i%2]; ask(owner).status == http.StatusTooManyRequests {
			t.Fatalf("request %d is refused", i)
		}
	}
	if got := ask(c.id); got.status != http.StatusOK || got.header.Get("X-RateLimit-Remaining") != "0" || got.header.Get("X-RateLimit-Limit") != "600" {
		t.Errorf("the last one got %d, %v", got.status, got.header)
	}
	for _, owner := range []tenant.ID{c.id, other.id} {
		if got := ask(owner); got.status != http.StatusTooManyRequests || got.field(t, "code") != "rate_limit_exceeded" {
			t.Errorf("one more got %d: %s", got.status, got.body)
		}
	}
	for _, path := range []string{"/session", "/sessions"} {
		if got := g.by(s, http.MethodGet, "/console/api"+path, ""); got.status != http.StatusTooManyRequests || got.field(t, "code") != "rate_limit_exceeded" {
			t.Errorf("%s got %d: %s", path, got.status, got.body)
		}
	}
	if got := g.send(http.MethodGet, "/v1/gateway/workflows", c.secret, ""); got.header.Get("X-RateLimit-Remaining") != "999" {
		t.Errorf("the tenant has %s left", got.header.Get("X-RateLimit-Remaining"))
	}
	if got := g.by(g.member(c.id, tenant.ViewerRole), http.MethodGet, membersPath(c.id, "/workflows"), ""); got.status != http.StatusOK {
		t.Errorf("another member got %d", got.status)
	}
}

func TestAnIdempotencyKeyIsOneUsersOwn(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	first, second := g.member(c.id, tenant.EditorRole), g.member(c.id, tenant.EditorRole)
	create := func(s somebody) string {
		got := g.by(s, http.MethodPost, membersPath(c.id, "/workflows"), `{"name":"Orders of `+string(s.user)+`"}`, "X-Idempotency-Key", "one")
		if got.status != http.StatusCreated {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
		return fmt.Sprint(got.field(t, "id"))
	}
	made := create(first)
	if again, others := create(first), create(second); again != made || others == made {
		t.Errorf("made is %s, by a repeat %s, by another user %s", made, again, others)
	}
}

func TestWhoReadsOnlySeesNoSecretsOfQuestions(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for role, sees := range map[tenant.Role]bool{tenant.ViewerRole: false, tenant.ApproverRole: true} {
		got := g.by(g.member(e.id, role), http.MethodGet, membersPath(e.id, "/runs/"+e.ids["runs"]), "")
		if got.status != http.StatusOK || strings.Contains(got.body, e.ids["approval"]) != sees {
			t.Errorf("to a %s the run shows %s", role, got.body)
		}
	}
}

func TestAnAnswerSaysWhichMemberGaveIt(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	s := g.member(e.id, tenant.ApproverRole)
	if got := g.by(s, http.MethodPost, membersPath(e.id, "/pauses/"+e.ids["pauses"]+"/answer"), `{"input":true}`); got.status >= http.StatusBadRequest {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	again := g.send(http.MethodPost, "/v1/gateway/pauses/"+e.ids["pauses"]+"/answer", e.secret, `{"input":true}`)
	if again.status != http.StatusConflict || !strings.Contains(again.body, "Anna of "+string(s.user)) {
		t.Errorf("the second answer got %d: %s", again.status, again.body)
	}
	var u *member.User
	g.write(func(ctx context.Context, st outbound.Stores) (err error) {
		u, err = st.Members.Users.Get(ctx, s.user)
		return err
	})
	if strings.Contains(g.send(http.MethodGet, "/v1/gateway/runs/"+e.ids["runs"], e.secret, "").body, string(u.Email())) {
		t.Error("the run shows the address of the member")
	}
}

func TestALiteralPathOfMembersTakesItsOwnMethods(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	s := g.member(c.id, tenant.AdminRole)
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		if got := g.by(s, method, membersPath(c.id, "/triggers/preview"), ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != http.MethodPost {
			t.Errorf("%s got %d, allowed are %s", method, got.status, got.header.Get("Allow"))
		}
	}
	if got := g.by(s, http.MethodGet, membersPath(c.id, "/nothing"), ""); got.status != http.StatusNotFound {
		t.Errorf("an unknown path got %d", got.status)
	}
}
