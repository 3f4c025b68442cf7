package httpapi_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestTheOperatorsPeopleHaveItsOperationsBySession(t *testing.T) {
	p := newPeople(t, publicURL, func(o *httpapi.Options, _ *httpapi.Ports) { o.OperatorTokens = nil })
	const root = "2a"
	link := member.NewToken([member.TokenBytes]byte{7}).Reveal()
	token, _ := member.ParseToken(link)
	user, err := member.NewUser(root, member.UserDraft{Email: "root@example.com", Name: "Root", IsOperator: true}, noon)
	if err != nil {
		t.Fatal(err)
	}
	p.write(func(ctx context.Context, st outbound.Stores) error {
		if err := st.Members.Users.Insert(ctx, user); err != nil {
			return err
		}
		return st.Members.Links.Insert(ctx, member.NewLink(user.ID(), member.Invitation, token, noon))
	})
	enter := func(link string) string {
		return p.sessionOf(p.visit("/console/l/"+link, url.Values{"password": {goodPassword}}, ""))
	}
	operator, anna := enter(link), enter(p.link)

	made := p.ask(http.MethodPost, "/operator/tenants", `{"name":"Acme"}`, operator)
	if made.Code != http.StatusCreated || !strings.Contains(made.Body.String(), `"name":"Acme"`) {
		t.Fatalf("the operator's person got %d: %s", made.Code, made.Body)
	}
	if got := p.ask(http.MethodGet, "/operator/tenants", "", operator); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Acme") {
		t.Errorf("the list is %d: %s", got.Code, got.Body)
	}
	for _, c := range []struct {
		claim, cookie, code string
		status              int
		headers             []string
	}{
		{"who is no operator", anna, "role_not_allowed", http.StatusForbidden, nil},
		{"who is signed out", "", "signed_out", http.StatusUnauthorized, nil},
		{"a page of another site", operator, "cross_site_request", http.StatusForbidden, []string{"Sec-Fetch-Site", "cross-site"}},
		{"a token takes no session's place", "", "signed_out", http.StatusUnauthorized, []string{"Authorization", "Bearer " + operatorToken}},
	} {
		got := p.ask(http.MethodPost, "/operator/tenants", `{"name":"Other"}`, c.cookie, c.headers...)
		if got.Code != c.status || !strings.Contains(got.Body.String(), `"code":"`+c.code+`"`) {
			t.Errorf("%s: %d %s", c.claim, got.Code, got.Body)
		}
	}
	if got := p.ask(http.MethodGet, "/operator/tenants", "", operator); strings.Contains(got.Body.String(), "Other") {
		t.Errorf("a refused request did something: %s", got.Body)
	}
	if got := p.visit("/v1/operator/tenants", nil, operator); got.Code == http.StatusOK {
		t.Error("a cookie opens the interface for tokens")
	}
}
