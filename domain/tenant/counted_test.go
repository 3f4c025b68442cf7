package tenant_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/tenant"
)

func TestRequestsAreCountedByThoseWhoMakeThem(t *testing.T) {
	sub, other := tenant.SubTenantID("a"), tenant.SubTenantID("a/b")
	seen := map[string]string{}
	for claim, who := range map[string]tenant.Caller{
		"public keys":                    {Scope: tenant.All("tenant_1"), KeyType: tenant.Public},
		"secret keys":                    {Scope: tenant.All("tenant_1"), KeyType: tenant.Secret},
		"secret keys of another tenant":  {Scope: tenant.All("tenant_2"), KeyType: tenant.Secret},
		"embed tokens of a sub-tenant":   {Scope: tenant.Only("tenant_1", sub), KeyType: tenant.Embed, Narrowing: tenant.Narrowing{SubTenant: &sub}},
		"embed tokens of another one":    {Scope: tenant.Only("tenant_1", other), KeyType: tenant.Embed, Narrowing: tenant.Narrowing{SubTenant: &other}},
		"embed tokens of a subject":      {Scope: tenant.Only("tenant_1", sub), KeyType: tenant.Embed, Narrowing: tenant.Narrowing{SubTenant: &sub, Subject: "b"}},
		"a session":                      {Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Session: "ses_1"}},
		"another session of the user":    {Scope: tenant.All("tenant_1"), KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Session: "ses_2"}},
		"a third one, outside of it all": {KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Session: "ses_3"}},
	} {
		if before, taken := seen[who.Counted()]; taken {
			t.Errorf("%s count together with %s", claim, before)
		}
		seen[who.Counted()] = claim
	}
	in := func(owner tenant.ID) string {
		return tenant.Caller{Scope: tenant.All(owner), KeyType: tenant.Session, Member: tenant.Member{Session: "ses_1"}}.Counted()
	}
	if in("tenant_1") != in("tenant_2") {
		t.Error("a session has more requests when it goes from one tenant to another")
	}
	if key := (tenant.Caller{Scope: tenant.Only("tenant_1", sub), KeyType: tenant.Secret, Narrowing: tenant.Narrowing{SubTenant: &sub}}); key.Counted() != (tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Secret}).Counted() {
		t.Error("narrowed keys do not count with the other ones")
	}
}
