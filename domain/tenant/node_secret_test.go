package tenant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func nodeSecret(n byte) domain.SigningSecret {
	return domain.NewSigningSecret([domain.SecretEntropy]byte{n})
}

// texts reveals secrets, which cannot be compared otherwise.
func texts(all []domain.SigningSecret) (texts []string) {
	for _, s := range all {
		texts = append(texts, s.Reveal())
	}
	return texts
}

func TestANodeSecretSignsBesideItsSuccessorForTheOverlap(t *testing.T) {
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n := tenant.NewNodeSecret("tenant_1", nodeSecret(0), made)
	want := func(step string, at time.Time, numbers ...byte) {
		t.Helper()
		var all []domain.SigningSecret
		for _, number := range numbers {
			all = append(all, nodeSecret(number))
		}
		if diff := cmp.Diff(texts(all), texts(n.Signing(at))); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		var previous []domain.SigningSecret
		for _, r := range n.Previous(at) {
			previous = append(previous, r.Secret)
		}
		if diff := cmp.Diff(texts(all[1:]), texts(previous)); diff != "" {
			t.Errorf("%s: the previous ones: %s", step, diff)
		}
	}
	rotate := func(number byte, overlap time.Duration, at time.Time) {
		t.Helper()
		if err := n.Rotate(nodeSecret(number), overlap, at); err != nil {
			t.Fatal(err)
		}
	}
	want("at first", made, 0)
	rotate(1, time.Hour, made)
	want("both", made.Add(time.Hour-1), 1, 0)
	want("when the overlap ends", made.Add(time.Hour), 1)
	rotate(2, tenant.MaxGrace, made.Add(time.Minute))
	want("each has its own overlap", made.Add(time.Minute), 2, 1, 0)
	rotate(3, 0, made.Add(2*time.Minute))
	want("a lost secret takes those before it along", made.Add(2*time.Minute), 3)
	if n.CreatedAt() != made.Add(2*time.Minute) || n.Tenant() != "tenant_1" || !n.Current().Equal(nodeSecret(3)) || n.Revision() != 1 {
		t.Errorf("an accessor disagrees: %v %v %v", n.CreatedAt(), n.Tenant(), n.Revision())
	}
}

func TestAnOverlapIsFromNothingToADay(t *testing.T) {
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for overlap, message := range map[time.Duration]string{
		-time.Second:                      "must be at least 0, not -1",
		tenant.MaxGrace + 500*time.Second: "must be at most 86400, not 86900",
	} {
		n := tenant.NewNodeSecret("tenant_1", nodeSecret(0), made)
		err := n.Rotate(nodeSecret(1), overlap, made)
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != "node_secret_invalid" || len(e.Violations) != 1 || e.Violations[0].Field != "graceSeconds" || e.Violations[0].Message != message {
			t.Errorf("%s: %v", overlap, err)
		}
		if !n.Current().Equal(nodeSecret(0)) {
			t.Errorf("%s: it was rotated all the same", overlap)
		}
	}
}

func TestTheStateOfANodeSecretCannotBeChangedFromOutside(t *testing.T) {
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	n := tenant.NewNodeSecret("tenant_1", nodeSecret(0), made)
	if err := n.Rotate(nodeSecret(1), time.Hour, made); err != nil {
		t.Fatal(err)
	}
	st := n.State()
	restored := tenant.RestoreNodeSecret(st)
	st.Secrets.Retired[0].Secret = nodeSecret(9)
	n.Previous(made)[0].Secret = nodeSecret(9)
	for name, one := range map[string]*tenant.NodeSecret{"it": n, "the restored one": restored} {
		if diff := cmp.Diff(texts([]domain.SigningSecret{nodeSecret(1), nodeSecret(0)}), texts(one.Signing(made))); diff != "" {
			t.Errorf("%s changed: %s", name, diff)
		}
	}
}
