package domain_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
)

func TestARotatedSecretSignsUntilItsOverlapEnds(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	fresh := func(n byte) domain.SigningSecret { return domain.NewSigningSecret([domain.SecretEntropy]byte{n}) }
	all := domain.SigningSecrets{Current: fresh(0)}
	want := func(step string, at time.Time, names ...byte) {
		t.Helper()
		var got []byte
		for _, s := range all.At(at) {
			for n := range byte(20) {
				if s.Equal(fresh(n)) {
					got = append(got, n)
				}
			}
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	want("at first", noon, 0)
	all = all.Rotated(fresh(1), time.Hour, noon)
	want("both sign", noon.Add(time.Hour-1), 1, 0)
	want("when the overlap ends", noon.Add(time.Hour), 1)
	all = all.Rotated(fresh(2), 0, noon)
	want("without an overlap the one before signs no more, those before it do", noon, 2, 0)
	if n := len(all.Retired); n != 1 {
		t.Errorf("%d secrets are kept that sign no more", n-1)
	}
	for n := byte(3); n < 9; n++ {
		all = all.Rotated(fresh(n), time.Hour, noon)
	}
	want("no more than four next to the current one", noon, 8, 7, 6, 5, 4)
	all = all.Rotated(fresh(9), time.Hour, noon.Add(2*time.Hour))
	if n := len(all.Retired); n != 1 {
		t.Errorf("%d secrets are kept that sign no more", n-1)
	}
}
