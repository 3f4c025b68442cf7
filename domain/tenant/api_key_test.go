package tenant_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func someKey(t *testing.T, expiresAt *time.Time) *tenant.APIKey {
	t.Helper()
	k, err := tenant.NewAPIKey("key_1", "tenant_1", tenant.KeyDraft{Type: tenant.Secret, Name: "deploy", ExpiresAt: expiresAt},
		tenant.NewKeyText(tenant.Secret, entropyOf(1)), noon)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAKeyIsUsableUntilItExpiresOrIsRevoked(t *testing.T) {
	end := noon.Add(time.Hour)
	k := someKey(t, &end)
	if !k.Usable(noon) || !k.Usable(end.Add(-1)) || k.Usable(end) {
		t.Error("a key that expires is usable before that instant only")
	}
	k.Revoke(noon)
	k.Revoke(later)
	if k.Usable(noon) || !k.RevokedAt().Equal(noon) {
		t.Errorf("revoked at %v, usable %v", k.RevokedAt(), k.Usable(noon))
	}
}

func TestAKeyOfNoTypeThatExpiresInThePastIsRefusedForBoth(t *testing.T) {
	_, err := tenant.NewAPIKey("key_1", "tenant_1", tenant.KeyDraft{Type: "master", ExpiresAt: &noon}, tenant.NewKeyText(tenant.Public, entropyOf(1)), noon)
	want := []domain.Violation{
		{Field: "type", Code: domain.NotAllowed, Message: `must be "public" or "secret", not "master"`},
		{Field: "expiresAt", Code: domain.TooSmall, Message: "must be in the future"},
	}
	if diff := cmp.Diff(want, violations(t, err, "api_key_invalid")); diff != "" {
		t.Error(diff)
	}
}

func TestRetiringAKey(t *testing.T) {
	soon := noon.Add(time.Minute)
	for claim, c := range map[string]struct {
		expires *time.Time
		grace   time.Duration
		end     time.Time
		wrong   domain.ViolationCode
	}{
		"without grace ends it at once":               {grace: 0, end: noon},
		"with grace ends it then":                     {grace: time.Hour, end: noon.Add(time.Hour)},
		"does not lengthen the life of an ending key": {expires: &soon, grace: time.Hour, end: soon},
		"is refused for a grace beyond a day":         {grace: 24*time.Hour + time.Second, wrong: domain.TooLarge},
		"is refused for a negative grace":             {grace: -time.Second, wrong: domain.TooSmall},
	} {
		t.Run(claim, func(t *testing.T) {
			k := someKey(t, c.expires)
			err := k.Retire("key_2", c.grace, noon)
			if c.wrong != "" {
				if found := violations(t, err, "api_key_invalid"); found[0].Code != c.wrong || found[0].Field != "graceSeconds" || !k.Usable(noon) {
					t.Errorf("violations %v, usable %v", found, k.Usable(noon))
				}
				return
			}
			if err != nil || k.Usable(c.end) || !k.Usable(c.end.Add(-1)) && c.grace > 0 {
				t.Errorf("err %v, usable at the end %v", err, k.Usable(c.end))
			}
		})
	}
}

func TestAKeyHasOneSuccessor(t *testing.T) {
	for claim, c := range map[string]struct {
		grace   time.Duration
		message string
	}{
		"while the grace lasts": {time.Hour, "key_2"},
		"without grace":         {0, "has ended"},
	} {
		k := someKey(t, nil)
		if err := k.Retire("key_2", c.grace, noon); err != nil {
			t.Fatal(err)
		}
		before := k.State()
		err := k.Retire("key_3", c.grace, noon.Add(time.Minute))
		var known *domain.Error
		if !errors.As(err, &known) || known.Kind != domain.Conflict || known.Code != "api_key_not_active" || !strings.Contains(known.Message, c.message) {
			t.Errorf("%s: %v", claim, err)
		}
		if diff := cmp.Diff(before, k.State()); diff != "" {
			t.Errorf("%s: the key changed: %s", claim, diff)
		}
	}
}

func TestAUseIsWorthANoteOnceAMinute(t *testing.T) {
	k := someKey(t, nil)
	if k.RecentlyUsed(noon) {
		t.Error("the first use is taken for noted")
	}
	st := k.State()
	st.LastUsedAt = &noon
	k = tenant.RestoreAPIKey(st)
	for after, want := range map[time.Duration]bool{0: true, 59 * time.Second: true, time.Minute: false} {
		if got := k.RecentlyUsed(noon.Add(after)); got != want {
			t.Errorf("a use after %s is noted: %v", after, got)
		}
	}
}

func TestTheTableOfPermissionsHoldsEachOperationOnce(t *testing.T) {
	seen := make(map[tenant.Operation]bool)
	for _, p := range tenant.Permissions() {
		if seen[p.Operation] {
			t.Errorf("%s stands twice", p.Operation)
		}
		seen[p.Operation] = true
		if p.Secret != tenant.Allowed {
			t.Errorf("a secret key may not %s", p.Operation)
		}
	}
	if _, ok := tenant.Operation("unheard of").Access(tenant.Secret); ok {
		t.Error("an operation without a row is permitted")
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	limited := tenant.Settings{PublicTriggerCreation: tenant.PublicTriggersLimited}
	for claim, c := range map[string]struct {
		who tenant.Caller
		op  tenant.Operation
		may bool
	}{
		"a secret key creates triggers":                                 {tenant.Caller{KeyType: tenant.Secret}, tenant.CreateTrigger, true},
		"a public key does not create triggers":                         {tenant.Caller{KeyType: tenant.Public}, tenant.CreateTrigger, false},
		"a public key creates triggers where the tenant permits it":     {tenant.Caller{KeyType: tenant.Public, Settings: limited}, tenant.CreateTrigger, true},
		"a public key reads the registry":                               {tenant.Caller{KeyType: tenant.Public}, tenant.ReadNodeRegistry, true},
		"a public key does not manage keys whatever the tenant permits": {tenant.Caller{KeyType: tenant.Public, Settings: limited}, tenant.CreateKey, false},
		"the operator acts with the rights of a secret key":             {tenant.Operator("tenant_1"), tenant.RevokeKey, true},
		"nobody performs an operation that is not in the table":         {tenant.Caller{KeyType: tenant.Secret}, "unheard of", false},
	} {
		t.Run(claim, func(t *testing.T) {
			err := c.who.May(c.op)
			if (err == nil) != c.may || err != nil && domain.KindOf(err) != domain.Forbidden {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}
