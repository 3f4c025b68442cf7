package connection_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/idna"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/connection"
)

func lookup(name string) (string, error) { return idna.Lookup.ToASCII(name) }

func TestAHostIsReadAsItIsCompared(t *testing.T) {
	for text, want := range map[string]string{
		"example.com":                        "example.com",
		"EXAMPLE.com.":                       "example.com",
		"example.com:443":                    "example.com",
		"example.com.:8443":                  "example.com:8443",
		"localhost:80":                       "localhost:80",
		"*.Example.com":                      "*.example.com",
		"*.example.com:8443":                 "*.example.com:8443",
		"bücher.example":                     "xn--bcher-kva.example",
		"*.Bücher.example:1":                 "*.xn--bcher-kva.example:1",
		"xn--bcher-kva.example":              "xn--bcher-kva.example",
		"ｅｘａｍｐｌｅ。com":                        "example.com",
		"192.0.2.1":                          "192.0.2.1",
		"192.0.2.1:8080":                     "192.0.2.1:8080",
		"１９２.0.2.1":                          "192.0.2.1",
		"2001:DB8::1":                        "[2001:db8::1]",
		"[2001:db8:0:0:0:0:0:1]:8443":        "[2001:db8::1]:8443",
		"[::ffff:192.0.2.1]":                 "192.0.2.1",
		"a_b.example":                        "a_b.example",
		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		p, err := connection.ParseHostPattern(text, lookup)
		if err != nil || p.String() != want {
			t.Errorf("%s is %s, %v", text, p, err)
		}
		again, err := connection.RestoreHosts([]string{p.String()})
		if err != nil || again[0] != p {
			t.Errorf("%s comes back as %v, %v", p, again, err)
		}
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	for _, text := range []string{
		"", ".", "*", "*.", "*.com", "*.com.", "**.example.com", "a*.example.com", "a.*.example.com", "*.192.0.2.1", "*.[::1]",
		"https://example.com", "example.com/", "user@example.com", "example.com?", "example.com#", `example.com\`, " example.com", "example.com\n",
		"example.com:", "example.com:0", "example.com:65536", "example.com:https", "example.com:+80", "a:1:2",
		"[::1", "::1]", "[::1]8443", "[::1]:", "[192.0.2.1]", "[fe80::1%25eth0]", "fe80::1%eth0", "[example.com]",
		"example..com", ".example.com", "example.com..", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "example",
		"127.1", "2130706433", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "192.0.2.1.", "1.2.3.4.5", "example.123",
		"exa mple.com", "example.com%00", "ex%61mple.com", "\u202eexample.com", "a\u2024b.example\u0000", "☃.☃⁉",
	} {
		if p, err := connection.ParseHostPattern(text, lookup); err == nil {
			t.Errorf("%q is read as %s", text, p)
		}
	}
}

func TestATargetIsCoveredByThePatternThatNamesIt(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"example.com", "https://example.com/a?b", true},
		{"example.com", "https://EXAMPLE.COM./", true},
		{"example.com", "https://example.com:443", true},
		{"example.com", "https://example.com:8443", false},
		{"example.com:8443", "https://example.com:8443", true},
		{"example.com:8443", "https://example.com", false},
		{"example.com", "http://example.com", false},
		{"example.com:80", "http://example.com", true},
		{"example.com:80", "http://example.com:80", true},
		{"example.com", "https://sub.example.com", false},
		{"example.com", "https://example.com.evil.test", false},
		{"example.com", "https://evil-example.com", false},
		{"example.com", "https://example.com@evil.test", false},
		{"example.com", "https://user:pass@example.com", false},
		{"example.com", "https://evil.test/example.com", false},
		{"example.com", "https://evil.test#example.com", false},
		{"example.com", "https://evil.test?example.com", false},
		{"example.com", "https://example.com..", false},
		{"example.com", "https://exämple.com", false},
		{"example.com", "https://еxample.com", false}, // with a Cyrillic е
		{"example.com", "ftp://example.com", false},
		{"example.com", "https:example.com", false},
		{"example.com", "//example.com", false},
		{"example.com", "https://", false},
		{"*.example.com", "https://a.example.com", true},
		{"*.example.com", "https://A.example.com.", true},
		{"*.example.com", "https://a.b.example.com", false},
		{"*.example.com", "https://example.com", false},
		{"*.example.com", "https://.example.com", false},
		{"*.example.com", "https://aexample.com", false},
		{"*.example.com", "https://a.example.com:8443", false},
		{"bücher.example", "https://BÜCHER.example", true},
		{"bücher.example", "https://xn--bcher-kva.example", true},
		{"bücher.example", "https://XN--BCHER-KVA.example", true},
		{"bücher.example", "https://b%C3%BCcher.example", true},
		{"bücher.example", "https://bucher.example", false},
		{"192.0.2.1", "https://192.0.2.1", true},
		{"192.0.2.1", "https://[::ffff:192.0.2.1]", true},
		{"192.0.2.1", "https://3221225985", false},
		{"192.0.2.1", "https://192.0.513", false},
		{"[::1]", "https://[0:0:0:0:0:0:0:1]", true},
		{"[::1]", "https://[::1%25lo]", false},
		{"[::1]", "https://[::1]:8443", false},
	} {
		p, err := connection.ParseHostPattern(c.pattern, lookup)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatalf("%s: %v", c.address, err)
		}
		target, ok := connection.TargetOf(u, lookup)
		if got := ok && (connection.Hosts{p}).Cover(target); got != c.want {
			t.Errorf("%s covers %s: %t", c.pattern, c.address, got)
		}
	}
}

func TestNothingCoversNothing(t *testing.T) {
	if (connection.Hosts{{}}).Cover(connection.Target{}) || (connection.Hosts{}).Cover(connection.Target{}) {
		t.Error("the zero target is covered")
	}
}

// A wildcard stands for one label, whatever that is.
func TestAWildcardIsOneLabelDeep(t *testing.T) {
	p, err := connection.ParseHostPattern("*.example.com", lookup)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`), 0, 4).Draw(t, "labels")
		u := &url.URL{Scheme: "https", Host: strings.Join(append(labels, "example", "com"), ".")}
		target, ok := connection.TargetOf(u, lookup)
		if !ok || p.Covers(target) != (len(labels) == 1) {
			t.Errorf("%s: %t", u.Host, p.Covers(target))
		}
	})
}

func FuzzAPatternCoversItself(f *testing.F) {
	for _, seed := range []string{"example.com", "*.example.com:8443", "[2001:db8::1]:1", "bücher.example", "１２７.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := connection.ParseHostPattern(text, lookup)
		if err != nil {
			return
		}
		again, err := connection.ParseHostPattern(p.String(), func(string) (string, error) { return "", errors.New("not ASCII") })
		if err != nil || again != p {
			t.Fatalf("%q is %s, which is %s, %v", text, p, again, err)
		}
		host := strings.Replace(p.String(), "*", "a", 1)
		u, err := url.Parse("https://" + host)
		if err != nil {
			t.Fatalf("%s cannot stand in a URL: %v", host, err)
		}
		if target, ok := connection.TargetOf(u, lookup); !ok || !p.Covers(target) {
			t.Fatalf("%s does not cover %s", p, u)
		}
	})
}
