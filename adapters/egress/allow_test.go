package egress_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/egress"
)

func TestAnAllowListIsReadAsWritten(t *testing.T) {
	got, err := egress.ParseAllow([]string{"10.1.2.3", " 10.0.0.0/8 ", "::1", "fd00::/8", "::ffff:10.0.0.0/104", "::ffff:10.1.2.3", "0.0.0.0/0"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range got {
		texts = append(texts, r.String())
	}
	want := []string{"10.1.2.3/32", "10.0.0.0/8", "::1/128", "fd00::/8", "10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func TestEveryMistakeInAnAllowListIsReported(t *testing.T) {
	got, err := egress.ParseAllow([]string{"10.0.0.0/8", "10.1.2.3/8", "localhost", "10.0.0.0/33", "fe80::1%eth0", "::ffff:0:0/90", "", "127.1"})
	if err == nil || got != nil {
		t.Fatalf("it was read as %v", got)
	}
	want := []string{
		`"10.1.2.3/8", which must be one address, 10.1.2.3, or the whole range, 10.0.0.0/8`,
		`"localhost", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
		`"10.0.0.0/33", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
		`"fe80::1%eth0", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
		`"::ffff:0:0/90", which must be one address, ::ffff:0.0.0.0, or the whole range, ::ffc0:0:0/90`,
		`"", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
		`"127.1", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseAllow(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "10.1.2.3", "::ffff:10.0.0.0/104", "::/90", "fe80::%1/64", "127.1", "1.2.3.4/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := egress.ParseAllow([]string{text})
		if err != nil {
			return
		}
		again, err := egress.ParseAllow([]string{got[0].String()})
		if err != nil || again[0] != got[0] || got[0] == (netip.Prefix{}) || got[0].Addr().Is4In6() {
			t.Errorf("%q is read as %v, and that as %v: %v", text, got, again, err)
		}
	})
}
