package audit_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

func texts(facts domain.Facts) map[string]string {
	all := make(map[string]string)
	for name, f := range facts {
		all[name] = f.String()
	}
	return all
}

func TestFactsAreNamedAsInTheAPIAndShowNoSecret(t *testing.T) {
	secret, err := domain.ParseSigningSecret("whsec_" + strings.Repeat("A", 43) + "=")
	if err != nil {
		t.Fatal(err)
	}
	at, sub, description := time.Date(2027, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), tenant.SubTenantID("acme"), "d"
	hidden := domain.Redacted
	credential, err := connection.RestoreSecret(connection.Bearer, `{"token":"s3cr3t-s3cr3t"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		of   interface{ Facts() domain.Facts }
		want map[string]string
	}{
		{workflow.Restore(workflow.State{ID: "wf_1", Tenant: "t", SubTenant: sub, Name: "n", Description: &description, Metadata: domain.RestoreMetadata(`{"a":"b"}`), Active: true, CreatedAt: at, Revision: 7}),
			map[string]string{"subTenantId": `"acme"`, "name": `"n"`, "description": `"d"`, "metadata": `{"a":"b"}`, "isActive": "true"}},
		{tenant.RestoreAPIKey(tenant.KeyState{ID: "key_1", Name: "n", Type: tenant.Secret, LastFour: "abcd", ExpiresAt: &at, LastUsedAt: &at, Narrowing: tenant.Narrowing{SubTenant: &sub, Rights: []tenant.Right{tenant.ReadRunsRight}}}),
			map[string]string{"name": `"n"`, "type": `"secret"`, "lastFour": `"abcd"`, "expiresAt": `"2027-01-02T02:04:05Z"`, "subTenantId": `"acme"`, "permissions": `["runs:read"]`}},
		{event.RestoreEndpoint(event.EndpointState{URL: "https://x", Secret: secret, Events: []event.Type{event.RunFailed}}),
			map[string]string{"url": `"https://x"`, "secret": hidden, "events": `["run.failed"]`, "isActive": "false", "includeChildren": "false"}},
		{connection.Restore(connection.State{Name: "n", Kind: connection.Bearer, Secret: credential}),
			map[string]string{"name": `"n"`, "kind": `"bearer"`, "secret": hidden, "shared": "false", "isActive": "false"}},
		{member.RestoreUser(member.UserState{Email: "a@b.c", PasswordHash: "$argon2id$x"}), map[string]string{"email": `"a@b.c"`, "password": hidden, "isOperator": "false"}},
		{tenant.Restore(tenant.State{Name: "n", Status: tenant.Active, Settings: tenant.Settings{Language: tenant.English, Quotas: map[tenant.KeyType]tenant.Quota{tenant.Public: {PerMinute: 5, Concurrent: 1}}}}),
			map[string]string{"name": `"n"`, "status": `"active"`, "language": `"en"`, "limits": `{"public":{"concurrent":1,"perMinute":5}}`}},
	} {
		if diff := cmp.Diff(one.want, texts(one.of.Facts())); diff != "" {
			t.Errorf("%T: %s", one.of, diff)
		}
	}
}

func TestASecretThatChangesIsAChangeAndALongTextIsTold(t *testing.T) {
	one, other := domain.HiddenFact("a"), domain.HiddenFact("b")
	if one == other || one != domain.HiddenFact("a") || one.String() != other.String() {
		t.Error("secrets are compared, and look alike")
	}
	long := domain.TextFact(strings.Repeat("x", domain.MaxFact+1))
	if want := `{"bytes":2049,"sha256":"`; !strings.HasPrefix(long.String(), want) {
		t.Error(long)
	}
}

// readable says where in a type there is something of which a fact would say nothing.
func readable(t *testing.T, at string, typ reflect.Type) {
	reads := func(value any) bool { return typ.Implements(reflect.TypeOf(value).Elem()) }
	switch {
	case typ == reflect.TypeFor[time.Time](), reads((*interface{ Reveal() string })(nil)), reads((*interface{ String() string })(nil)),
		reads((*interface{ Document() domain.Document })(nil)), reads((*interface{ Texts() []string })(nil)), reads((*interface{ MarshalJSON() ([]byte, error) })(nil)):
		return
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		readable(t, at, typ.Elem())
	case reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			if field.Tag.Get("fact") == "-" {
				continue
			}
			if !field.IsExported() {
				t.Errorf("%s.%s of %s is not read: give the type a String, a Document or Texts", at, field.Name, typ)
				continue
			}
			readable(t, at+"."+field.Name, field.Type)
		}
	case reflect.Func, reflect.Chan, reflect.Interface:
		t.Errorf("%s is a %s", at, typ)
	}
}

func TestAllOfAStateIsReadable(t *testing.T) {
	for _, state := range []any{
		workflow.State{}, workflow.VersionState{}, trigger.State{}, hook.State{}, tenant.SubTenantState{}, node.CustomState{}, tenant.KeyState{}, tenant.State{},
		event.EndpointState{}, connection.State{}, member.UserState{}, member.MembershipState{}, job.State{}, workflow.Node{}, workflow.Edge{},
	} {
		readable(t, reflect.TypeOf(state).String(), reflect.TypeOf(state))
	}
}
