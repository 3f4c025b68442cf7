package connection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123_000_000, time.UTC)

type object = map[string]any

// made makes a connection that is valid.
func made(t testing.TB, d connection.Draft) *connection.Connection {
	t.Helper()
	if d.Name == "" {
		d.Name = "Billing"
	}
	c, err := connection.New("conn_1", "tenant_1", d, lookup, noon)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bearer() connection.Draft {
	return connection.Draft{Kind: connection.Bearer, Hosts: []string{"api.example.com"}, Secret: object{"token": "s3cret-token"}}
}

// violations returns what an error reports, as "field code".
func violations(t testing.TB, err error) (found []string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Invalid || e.Code != "connection_invalid" {
		t.Fatalf("the error is %v", err)
	}
	for _, v := range e.Violations {
		found = append(found, v.Field+" "+string(v.Code))
	}
	return found
}

func TestANewConnectionIsWhatItsDraftSays(t *testing.T) {
	no := false
	d := connection.Draft{
		Name: "Billing", Kind: connection.Basic, Hosts: []string{"API.example.com.", "*.Example.com:8443"}, Secret: object{"username": "ada", "password": ""},
		SubTenant: "team", Active: &no, Metadata: domain.MetadataPatch{Pairs: map[string]string{"a": "b"}},
	}
	got := made(t, d).State()
	if diff := cmp.Diff([]string{"api.example.com", "*.example.com:8443"}, got.Hosts.Texts()); diff != "" {
		t.Error(diff)
	}
	want := connection.State{
		ID: "conn_1", Tenant: "tenant_1", SubTenant: "team", Name: "Billing", Kind: connection.Basic, Hosts: got.Hosts, Secret: got.Secret,
		Metadata: domain.RestoreMetadata(`{"a":"b"}`), CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameHosts)); diff != "" {
		t.Error(diff)
	}
	if text := got.Secret.Reveal(); text != `{"password":"","username":"ada"}` {
		t.Errorf("the secret is %s", text)
	}
	if !made(t, bearer()).Active() {
		t.Error("it is not active although nobody said so")
	}
}

func sameHosts(a, b connection.Hosts) bool { return cmp.Equal(a.Texts(), b.Texts()) }

func TestEveryMistakeOfAConnectionIsReportedAtOnce(t *testing.T) {
	for claim, c := range map[string]struct {
		draft connection.Draft
		want  []string
	}{
		"nothing is given": {connection.Draft{}, []string{"kind required", "name required"}},
		"everything is wrong": {
			connection.Draft{Kind: connection.Bearer, Name: strings.Repeat("x", 256), Hosts: []string{"https://a.test", "b.test", "B.test"}, Secret: object{"token": "a b", "more": "x"}, SubTenant: "a\nb", Shared: true},
			[]string{"hosts[0] bad_format", "hosts[2] duplicate", "secret.more not_allowed", "secret.token bad_character", "name too_long", "subTenantId bad_character", "shared conflicting"},
		},
		"the kind is another":         {connection.Draft{Name: "x", Kind: "password", Hosts: []string{"a.test"}}, []string{"kind not_allowed"}},
		"a bearer without hosts":      {connection.Draft{Name: "x", Kind: connection.Bearer, Secret: object{"token": "x"}}, []string{"hosts required"}},
		"a bearer without a secret":   {connection.Draft{Name: "x", Kind: connection.Bearer, Hosts: []string{"a.test"}}, []string{"secret required"}},
		"a shared one of a segment":   {connection.Draft{Name: "x", Kind: connection.HMAC, Secret: object{"key": "x"}, Shared: true, SubTenant: "a"}, []string{"shared conflicting"}},
		"the token URL is elsewhere":  {oauth(object{"tokenUrl": "https://evil.test/token"}), []string{"secret.tokenUrl not_allowed"}},
		"the token URL at a port":     {oauth(object{"tokenUrl": "https://auth.example.com:8443/token"}), []string{"secret.tokenUrl not_allowed"}},
		"the token URL without TLS":   {oauth(object{"tokenUrl": "http://auth.example.com/token"}), []string{"secret.tokenUrl not_allowed"}},
		"the token URL has a secret":  {oauth(object{"tokenUrl": "https://a:b@auth.example.com/token"}), []string{"secret.tokenUrl not_allowed"}},
		"the token URL is none":       {oauth(object{"tokenUrl": "auth.example.com"}), []string{"secret.tokenUrl bad_format"}},
		"scopes of the wrong type":    {oauth(object{"scopes": 5.0}), []string{"secret.scopes wrong_type"}},
		"a scope with a space":        {oauth(object{"scopes": []any{"a b", 1.0}}), []string{"secret.scopes[1] wrong_type", "secret.scopes[0] bad_character"}},
		"another way to authenticate": {oauth(object{"authStyle": "query"}), []string{"secret.authStyle not_allowed"}},
	} {
		_, err := connection.New("conn_1", "tenant_1", c.draft, lookup, noon)
		if diff := cmp.Diff(c.want, violations(t, err)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

// oauth is a valid draft with other members.
func oauth(with object) connection.Draft {
	secret := object{"tokenUrl": "https://auth.example.com/token", "clientId": "me", "clientSecret": "s3cret"}
	for name, value := range with {
		secret[name] = value
	}
	return connection.Draft{Name: "x", Kind: connection.OAuth2ClientCredentials, Hosts: []string{"auth.example.com", "api.example.com"}, Secret: secret}
}

func TestARevisionChangesTheConnectionAsAWholeOrNotAtAll(t *testing.T) {
	name, no, team, other := "Other", false, tenant.SubTenantID("team"), connection.HMAC
	same, none := connection.Bearer, tenant.SubTenantID("")
	for claim, c := range map[string]struct {
		patch connection.Patch
		want  []string // violations
	}{
		"a name and whether it is active":     {connection.Patch{Name: &name, Active: &no}, nil},
		"what never changes, as it is":        {connection.Patch{Kind: &same, SubTenant: &none}, nil},
		"another kind and another segment":    {connection.Patch{Name: &name, Kind: &other, SubTenant: &team}, []string{"kind not_allowed", "subTenantId not_allowed"}},
		"another token":                       {connection.Patch{Secret: object{"token": "new-token"}}, nil},
		"the token as it was shown":           {connection.Patch{Secret: object{"token": connection.Redacted}}, nil},
		"no token":                            {connection.Patch{Secret: object{}}, []string{"secret.token required"}},
		"the same hosts in another spelling":  {connection.Patch{Hosts: &[]string{"API.example.com."}}, nil},
		"other hosts with the token":          {connection.Patch{Hosts: &[]string{"evil.test"}, Secret: object{"token": "s3cret-token"}}, nil},
		"other hosts without the token":       {connection.Patch{Hosts: &[]string{"evil.test"}}, []string{"secret required"}},
		"other hosts, the token as shown":     {connection.Patch{Hosts: &[]string{"evil.test"}, Secret: object{"token": connection.Redacted}}, []string{"secret required"}},
		"one host more":                       {connection.Patch{Hosts: &[]string{"api.example.com", "evil.test"}}, []string{"secret required"}},
		"another port":                        {connection.Patch{Hosts: &[]string{"api.example.com:8443"}}, []string{"secret required"}},
		"a host that is wrong, and no secret": {connection.Patch{Hosts: &[]string{"a/b"}}, []string{"hosts[0] bad_format", "secret required"}},
		"no host at all":                      {connection.Patch{Hosts: &[]string{}, Secret: object{"token": "x"}}, []string{"hosts required"}},
	} {
		t.Run(claim, func(t *testing.T) {
			conn := made(t, bearer())
			before := conn.State()
			err := conn.Revise(c.patch, lookup, noon.Add(time.Hour))
			if c.want == nil {
				if err != nil || !conn.State().UpdatedAt.Equal(noon.Add(time.Hour)) {
					t.Fatalf("%v, %+v", err, conn.State())
				}
				return
			}
			if diff := cmp.Diff(c.want, violations(t, err)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, conn.State(), cmp.Comparer(sameHosts)); diff != "" {
				t.Errorf("it changed: %s", diff)
			}
		})
	}
}

func TestWhatIsSentBackAsItWasShownKeepsWhatIsStored(t *testing.T) {
	conn := made(t, connection.Draft{Kind: connection.Header, Hosts: []string{"a.test"}, Secret: object{"X-Key": "one-secret", "X-Other": "another"}})
	err := conn.Revise(connection.Patch{Secret: object{"X-Key": connection.Redacted, "X-New": "a-new-one"}}, lookup, noon)
	if got := conn.Secret().Reveal(); err != nil || got != `{"X-Key":"one-secret","X-New":"a-new-one"}` {
		t.Errorf("%s, %v", got, err)
	}
	err = conn.Revise(connection.Patch{Secret: object{"X-Unknown": connection.Redacted}}, lookup, noon)
	if diff := cmp.Diff([]string{"secret.X-Unknown not_allowed"}, violations(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestAConnectionServesWorkflowsOfItsOwnSegmentAndSharedOnesAll(t *testing.T) {
	for _, c := range []struct {
		of     tenant.SubTenantID
		shared bool
		sub    tenant.SubTenantID
		want   bool
	}{
		{"", false, "", true}, {"", false, "team", false}, {"", true, "", true}, {"", true, "team", true},
		{"team", false, "team", true}, {"team", false, "other", false}, {"team", false, "", false},
	} {
		d := bearer()
		d.SubTenant, d.Shared = c.of, c.shared
		if got := made(t, d).Serves(c.sub); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	c := made(t, bearer())
	credential, _ := c.Credential()
	text, _ := c.Secret().MarshalText()
	printed := fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v %+v %#v %s", c, c, c, c.Secret(), c.Secret(), credential, &credential, credential, c.State(), credential.Redactor(), text)
	for _, field := range credential.Headers() {
		printed += fmt.Sprintf("%+v %#v", field, field)
	}
	if strings.Contains(printed, "s3cret") {
		t.Error("it is printed")
	}
	_, err := connection.New("conn_1", "tenant_1", connection.Draft{Kind: connection.Header, Secret: object{"X\nKey": "s3cret\n", "s": 5.0}}, lookup, noon)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("it is in %v", err)
	}
}
