package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// consoleErrors are those that every operation may answer when a member asks.
var consoleErrors = map[string]int{
	"signed_out": http.StatusUnauthorized, "role_not_allowed": http.StatusForbidden, "cross_site_request": http.StatusForbidden,
	"https_required": http.StatusForbidden, "tenant_not_found": http.StatusNotFound,
}

// checked is the gateway with every exchange held against the description that has it. What members do with their
// tenant is described where it is for keys, below another prefix.
func (g *gateway) checked() http.Handler {
	keys, accounts, members := g.contract.Handler(g.api), contract.Of(g.T, console.YAML()).Handler(g.api), g.contract.Where(consoleErrors)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ofTenant := console.OfTenant(r.URL.Path)
		switch {
		case ofTenant && !isOfConsoleOnly(rest), strings.HasPrefix(r.URL.Path, console.OperatorPath):
			asked := r.Clone(r.Context())
			asked.URL.Path, asked.URL.RawPath = keysPath(r.URL.Path), keysPath(r.URL.RawPath)
			members.Handler(http.HandlerFunc(func(w http.ResponseWriter, passed *http.Request) {
				passed.URL.Path, passed.URL.RawPath = r.URL.Path, r.URL.RawPath
				g.api.ServeHTTP(w, passed)
			})).ServeHTTP(w, asked)
		case console.Owns(r.URL.Path):
			accounts.ServeHTTP(w, r)
		default:
			keys.ServeHTTP(w, r)
		}
	})
}

// isOfConsoleOnly says whether keys have nothing at a path behind the tenant's.
func isOfConsoleOnly(rest string) bool {
	return rest == "/members" || strings.HasPrefix(rest, "/members/")
}

// keysPath is where keys have what members have at a path, or the operator's tokens what its people have.
func keysPath(path string) string {
	if rest, ok := strings.CutPrefix(path, console.OperatorPath); ok {
		return "/v1/operator" + rest
	}
	rest, ok := console.OfTenant(path)
	if !ok {
		return path
	}
	return "/v1/gateway" + rest
}

// membersPath is where members of a tenant have what keys have at a path.
func membersPath(owner tenant.ID, path string) string {
	return "/console/api/t/" + string(owner) + strings.TrimPrefix(path, "/v1/gateway")
}

// somebody is a user who is signed in.
type somebody struct {
	user   tenant.UserID
	member member.MembershipID // of the tenant, if of any
	token  member.Token
}

// cookie is what the browser sends.
func (s somebody) cookie() string { return "__Host-sluice=" + s.token.Reveal() }

// signedIn makes a user who is signed in.
func (g *gateway) signedIn(isOperator bool) somebody {
	g.Helper()
	s := somebody{user: tenant.UserID(g.random.ID(member.UserIDPrefix))}
	var random [member.TokenBytes]byte
	g.random.Fill(random[:])
	s.token = member.NewToken(random)
	u, err := member.NewUser(s.user, member.UserDraft{Email: string(s.user) + "@example.com", Name: "Anna of " + string(s.user), IsOperator: isOperator}, noon)
	if err != nil {
		g.Fatal(err)
	}
	u.SetPassword("h:" + goodPassword)
	session := member.NewSession(member.SessionID(g.random.ID(member.SessionIDPrefix)), s.user, s.token, member.Browser{}, g.clock.Now())
	g.write(func(ctx context.Context, st outbound.Stores) error {
		if err := st.Members.Users.Insert(ctx, u); err != nil {
			return err
		}
		return st.Members.Sessions.Insert(ctx, session)
	})
	return s
}

// member makes a member of a tenant who is signed in.
func (g *gateway) member(owner tenant.ID, role tenant.Role) somebody {
	g.Helper()
	s := g.signedIn(false)
	s.member = member.MembershipID(g.random.ID(member.MembershipIDPrefix))
	m, err := member.NewMembership(s.member, owner, s.user, role, noon)
	if err != nil {
		g.Fatal(err)
	}
	g.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Memberships.Insert(ctx, m) })
	return s
}

// storeMember stores a member of the fixture, whose name has its marker.
func (g *gateway) storeMember(e fixture) {
	g.Helper()
	_, number, _ := strings.Cut(string(e.id), "_")
	user := tenant.UserID(member.UserIDPrefix + "_" + number)
	e.ids["members"] = member.MembershipIDPrefix + "_" + number
	u, err := member.NewUser(user, member.UserDraft{Email: string(user) + "@example.com", Name: e.marker()}, noon)
	if err != nil {
		g.Fatal(err)
	}
	m, err := member.NewMembership(member.MembershipID(e.ids["members"]), e.id, user, tenant.ViewerRole, noon)
	if err != nil {
		g.Fatal(err)
	}
	g.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Members.Users.Insert(ctx, u), st.Members.Memberships.Insert(ctx, m))
	})
}

// routesOfMembers lists the routes of members as if they were behind the keys, in order.
func routesOfMembers(g *gateway) []httpapi.Route {
	return sortedRoutes(httpapi.MemberOperations(g.api))
}

// by makes a request of somebody who is signed in; headers are pairs of name and value.
func (g *gateway) by(s somebody, method, path, body string, headers ...string) answer {
	g.Helper()
	return g.send(method, path, "", body, append([]string{"Cookie", s.cookie()}, headers...)...)
}
