package nodes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestTheFirstCustomNodeMakesTheSecret(t *testing.T) {
	w := newEnv(t)
	if _, err := w.secrets.Get(t.Context(), w.who); !errors.Is(err, domain.NotFound) {
		t.Errorf("before there is one: %v", err)
	}
	first, second := w.create("a", ""), w.create("b", "")
	if first.Secret == nil || second.Secret != nil {
		t.Fatalf("the first one shows %v, the second one %v", first.Secret, second.Secret)
	}
	n, err := w.secrets.Get(t.Context(), w.who)
	if err != nil || !n.Current().Equal(*first.Secret) {
		t.Errorf("another secret is kept than the one that was shown: %v", err)
	}
	if err := w.custom.Delete(t.Context(), w.who, first.ID()); err != nil {
		t.Fatal(err)
	}
	if third := w.create("c", ""); third.Secret != nil {
		t.Error("the deletion of a custom node took the secret along")
	}
}

func TestRotationMakesTheFirstSecretToo(t *testing.T) {
	w := newEnv(t)
	first, err := w.secrets.Rotate(t.Context(), w.who, domain.IdempotencyKey{}, time.Hour)
	if err != nil || len(first.Signing(noon)) != 1 {
		t.Fatalf("%d secrets sign: %v", len(first.Signing(noon)), err)
	}
	if made := w.create("a", ""); made.Secret != nil {
		t.Error("the custom node made a second secret")
	}
	second, err := w.secrets.Rotate(t.Context(), w.who, domain.IdempotencyKey{}, time.Hour)
	if err != nil || len(second.Signing(noon)) != 2 || second.Current().Equal(first.Current()) {
		t.Errorf("%d secrets sign: %v", len(second.Signing(noon)), err)
	}
	if _, err := w.secrets.Rotate(t.Context(), w.who, domain.IdempotencyKey{}, 25*time.Hour); !errors.Is(err, domain.Invalid) {
		t.Errorf("for more than a day: %v", err)
	}
	kept, err := w.secrets.Get(t.Context(), w.who)
	if err != nil || !kept.Current().Equal(second.Current()) {
		t.Errorf("another secret is kept: %v", err)
	}
	// A heartbeat is signed with all of them.
	made := w.create("b", here)
	if n := len(w.endpoint.asked[len(w.endpoint.asked)-1].Secrets); n != 2 {
		t.Errorf("%d secrets signed the heartbeat to %s", n, made.Endpoint())
	}
}

func TestOnlyASecretKeyReachesTheSecret(t *testing.T) {
	w := newEnv(t)
	w.create("a", "")
	public := tenant.Caller{Scope: tenant.All(w.who.Tenant()), KeyType: tenant.Public}
	if _, err := w.secrets.Get(t.Context(), public); !errors.Is(err, domain.Forbidden) {
		t.Errorf("reading got %v", err)
	}
	if _, err := w.secrets.Rotate(t.Context(), public, domain.IdempotencyKey{}, 0); !errors.Is(err, domain.Forbidden) {
		t.Errorf("rotating got %v", err)
	}
}
