package workflow

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain"
)

// Every shape begins with one of a few literals. Each of them has a mark, or a secret of its shape was shown.
func TestEveryShapeOfASecretHasAMark(t *testing.T) {
	for _, secret := range []string{
		"sk_live_0123456789abcdef", "rk_test_0123456789abcdef", "pk_live_0123456789abcdef", "sk_" + strings.Repeat("a", 40), "sk-0123456789abcdefghij",
		"ghp_" + strings.Repeat("a", 30), "gho_" + strings.Repeat("a", 30), "ghu_" + strings.Repeat("a", 30), "ghs_" + strings.Repeat("a", 30), "ghr_" + strings.Repeat("a", 30),
		"github_pat_" + strings.Repeat("a", 30), "glpat-" + strings.Repeat("a", 20), "xoxb-0123456789", "AKIA0123456789ABCDEF", "AIza" + strings.Repeat("a", 35),
		"SG." + strings.Repeat("a", 16) + "." + strings.Repeat("b", 16), "whsec_" + strings.Repeat("a", 20), "eyJ" + strings.Repeat("a", 10) + ".eyJ" + strings.Repeat("b", 10) + "." + strings.Repeat("c", 10),
		"-----BEGIN RSA PRIVATE KEY-----", "Bearer 0123456789abcdef", "Basic 0123456789abcdef",
	} {
		if !secretShapes.MatchString(secret) || withoutSecret("a", "x "+secret) != "x "+redacted {
			t.Errorf("%s is shown as %s", secret, withoutSecret("a", "x "+secret))
		}
	}
	const known = 18
	if got := strings.Count(secretShapes.String(), "|"); got != known {
		t.Errorf("the shapes have %d bars, not %d: give a new shape its mark and a line in this test", got, known)
	}
}

// BenchmarkWithoutSecrets is what a reader of a version with a megabyte of configuration costs.
func BenchmarkWithoutSecrets(b *testing.B) {
	config := `{"source":"` + strings.Repeat(`const a = 1 // nothing to hide\n`, 16<<10) + `","list":[` + strings.Repeat(`{"name":"a","value":"b"},`, 20<<10) + `1]}`
	v := RestoreVersion(VersionState{Graph: RestoreGraph([]Node{{ID: "a", Config: domain.RestoreDocument(config)}}, nil)})
	b.SetBytes(int64(len(config)))
	b.ReportAllocs()
	for b.Loop() {
		v.WithoutSecrets()
	}
}
