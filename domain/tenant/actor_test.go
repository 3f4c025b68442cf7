package tenant_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/tenant"
)

func TestAnActorIsWhoAsksAndHasAName(t *testing.T) {
	for name, c := range map[string]struct {
		who  tenant.Caller
		want tenant.Actor
	}{
		"the key key_1":                               {tenant.Caller{Key: "key_1", KeyType: tenant.Secret}, tenant.Actor{Kind: tenant.ByKey, ID: "key_1"}},
		`the key key_1 for "ana"`:                     {tenant.Caller{Key: "key_1", KeyType: tenant.Secret, Narrowing: tenant.Narrowing{Subject: "ana"}}, tenant.Actor{Kind: tenant.ByKey, ID: "key_1", Subject: "ana"}},
		`the embed token emb_1 for "ana"`:             {tenant.Caller{Key: "emb_1", KeyType: tenant.Embed, Narrowing: tenant.Narrowing{Subject: "ana"}}, tenant.Actor{Kind: tenant.ByEmbedToken, ID: "emb_1", Subject: "ana"}},
		"a delivery to the hook of the trigger trg_1": {tenant.Caller{KeyType: tenant.Secret, Hook: "trg_1"}, tenant.Actor{Kind: tenant.ByHook, ID: "trg_1"}},
		"Ana (usr_1)":                                 {tenant.Caller{KeyType: tenant.Session, Member: tenant.Member{User: "usr_1", Name: "Ana"}}, tenant.Actor{Kind: tenant.ByMember, ID: "usr_1", Subject: "Ana"}},
		"the member usr_1":                            {tenant.Caller{KeyType: tenant.Session, Member: tenant.Member{User: "usr_1"}}, tenant.Actor{Kind: tenant.ByMember, ID: "usr_1"}},
		"the operator":                                {tenant.Operator("tenant_1"), tenant.Actor{Kind: tenant.ByOperator}},
	} {
		if got := c.who.Actor(); got != c.want || got.String() != name {
			t.Errorf("%+v is %+v, %s", c.who, got, got)
		}
	}
	if got := (tenant.Actor{Kind: tenant.ByLink}).String(); got != "somebody who has its link" {
		t.Errorf("who has a link is %s", got)
	}
}
