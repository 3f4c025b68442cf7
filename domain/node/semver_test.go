package node_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// The lists are those of semver.org's reference regular expression.
var (
	validVersions = []string{
		"0.0.4", "1.2.3", "10.20.30", "1.1.2-prerelease+meta", "1.1.2+meta", "1.1.2+meta-valid", "1.0.0-alpha",
		"1.0.0-beta", "1.0.0-alpha.beta", "1.0.0-alpha.beta.1", "1.0.0-alpha.1", "1.0.0-alpha0.valid",
		"1.0.0-alpha.0valid", "1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay", "1.0.0-rc.1+build.1",
		"2.0.0-rc.1+build.123", "1.2.3-beta", "10.2.3-DEV-SNAPSHOT", "1.2.3-SNAPSHOT-123", "1.0.0", "2.0.0",
		"1.1.7", "2.0.0+build.1848", "2.0.1-alpha.1227", "1.0.0-alpha+beta", "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
		"1.2.3----R-S.12.9.1--.12+meta", "1.2.3----RC-SNAPSHOT.12.9.1--.12", "1.0.0+0.build.1-rc.10000aaa-kk-0.1",
		"99999999999999999999999.999999999999999999.99999999999999999", "1.0.0-0A.is.legal",
	}
	invalidVersions = []string{
		"", "1", "1.2", "1.2.3-0123", "1.2.3-0123.0123", "1.1.2+.123", "+invalid", "-invalid", "-invalid+invalid",
		"-invalid.01", "alpha", "alpha.beta", "alpha.beta.1", "alpha.1", "alpha+beta", "alpha_beta", "alpha.", "alpha..",
		"beta", "1.0.0-alpha_beta", "-alpha.", "1.0.0-alpha..", "1.0.0-alpha..1", "1.0.0-alpha...1", "01.1.1", "1.01.1",
		"1.1.01", "1.2.3.DEV", "1.2-SNAPSHOT", "1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788", "1.2-RC-SNAPSHOT",
		"-1.0.3-gamma+b7718", "+justmeta", "9.8.7+meta+meta", "9.8.7-whatever+meta+meta", "1.2.3-", "1.2.3+", "v1.2.3",
		" 1.2.3", "1.2.3\n", "1.2.٣", "1..3", "1.2.3-é", "1.2.3+" + strings.Repeat("a", 255),
	}
)

func TestParseSemVerAcceptsAndReproducesValidVersions(t *testing.T) {
	for _, text := range validVersions {
		v, err := node.ParseSemVer(text)
		if err != nil || v.String() != text {
			t.Errorf("ParseSemVer(%q) = %q, %v; want the same text", text, v, err)
		}
	}
}

func TestParseSemVerRefusesInvalidVersions(t *testing.T) {
	for _, text := range invalidVersions {
		if v, err := node.ParseSemVer(text); !errors.Is(err, domain.Invalid) || !v.IsZero() {
			t.Errorf("ParseSemVer(%q) = %q, %v; want an Invalid error", text, v, err)
		}
	}
}

func TestSemVerCompareRanksByPrecedence(t *testing.T) {
	// Semantic Versioning 2.0.0, §11, from the lowest to the highest.
	chain := []string{
		"0.0.1-0", "0.0.1", "0.9.10", "0.10.9", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0--", "1.0.0-10a", "1.0.0-alpha",
		"1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
		"2.0.0", "2.1.0", "2.1.1", "18446744073709551616.0.0", "18446744073709551617.0.0",
	}
	for i, a := range chain {
		for j, b := range chain {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := version(t, a).Compare(version(t, b)); got != want {
				t.Errorf("%s compared with %s = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestSemVerCompareIgnoresBuildMetadataButEqualityDoesNot(t *testing.T) {
	a, b := version(t, "1.0.0+a"), version(t, "1.0.0+b")
	if a.Compare(b) != 0 || a == b {
		t.Errorf("Compare = %d, equal = %v; want 0 and unequal", a.Compare(b), a == b)
	}
}

func TestTheZeroSemVerRanksBelowEveryVersion(t *testing.T) {
	var zero node.SemVer
	if zero.Compare(version(t, "0.0.0-0")) >= 0 || zero.String() != "" {
		t.Errorf("zero version %q does not rank lowest", zero)
	}
}

func TestSemVerCompareIsATotalOrder(t *testing.T) {
	drawn := rapid.Custom(func(rt *rapid.T) node.SemVer {
		text := rapid.StringMatching(`(0|[1-9]\d?)\.(0|[1-9]\d?)\.[0-2](-([a-c]|[1-9]\d?)(\.([a-c-]{1,2}|0|[1-9])){0,2})?(\+x)?`).Draw(rt, "version")
		v, err := node.ParseSemVer(text)
		if err != nil {
			rt.Fatalf("ParseSemVer(%q): %v", text, err)
		}
		return v
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := drawn.Draw(rt, "a"), drawn.Draw(rt, "b"), drawn.Draw(rt, "c")
		if a.Compare(b) != -b.Compare(a) {
			rt.Fatalf("not antisymmetric: %s, %s", a, b)
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			rt.Fatalf("not transitive: %s, %s, %s", a, b, c)
		}
	})
}

func FuzzParseSemVer(f *testing.F) {
	for _, text := range append(validVersions, invalidVersions...) {
		f.Add(text, "1.0.0-rc.1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := node.ParseSemVer(a)
		if err != nil {
			return
		}
		if v.String() != a || v.IsZero() {
			t.Errorf("%q gave %q", a, v)
		}
		if w, err := node.ParseSemVer(b); err == nil && v.Compare(w) != -w.Compare(v) {
			t.Errorf("%q and %q compare %d and %d", a, b, v.Compare(w), w.Compare(v))
		}
	})
}

func version(t *testing.T, text string) node.SemVer {
	t.Helper()
	v, err := node.ParseSemVer(text)
	if err != nil {
		t.Fatalf("ParseSemVer(%q): %v", text, err)
	}
	return v
}
