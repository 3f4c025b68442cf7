package expression_test

import (
	"encoding/json"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
)

// resolve computes a template that gives a URL, with v, w and base as its names.
func resolve(t testing.TB, template string, values map[string]any) (string, error) {
	t.Helper()
	made, err := expression.Compiler{}.CompileTemplates(map[string]any{"url": run.URLTemplate(template)}, "v", "w", "base")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := made.Evaluate(run.Env{Values: values})
	if err != nil {
		return "", err
	}
	text, _ := tree.(map[string]any)["url"].(string)
	return text, nil
}

func TestAValueStaysInItsPlaceInAURL(t *testing.T) {
	const hostile = "a b/c?d=e&f#g%2F\r\né+;'\"\\@:"
	const encoded = "a%20b%2Fc%3Fd%3De%26f%23g%252F%0D%0A%C3%A9%2B%3B'%22%5C%40%3A"
	for claim, c := range map[string]struct {
		template string
		v        any
		want     string
	}{
		"in the path":                          {"https://x.test/a/{{ v }}/b", hostile, "https://x.test/a/" + encoded + "/b"},
		"within a segment":                     {"https://x.test/a-{{ v }}.json", "1/2", "https://x.test/a-1%2F2.json"},
		"in the query":                         {"https://x.test/?q={{ v }}&r=1", hostile, "https://x.test/?q=" + encoded + "&r=1"},
		"in the query of a bare host":          {"https://x.test?q={{ v }}", "a&b", "https://x.test?q=a%26b"},
		"as a name in the query":               {"https://x.test/?{{ v }}=1", "a=2&b", "https://x.test/?a%3D2%26b=1"},
		"in the fragment":                      {"https://x.test/#{{ v }}", "a#b", "https://x.test/#a%23b"},
		"what the author wrote is not touched": {"https://x.test/a%2Fb c/é?q=%20+&r={{ v }}", "%20", "https://x.test/a%2Fb c/é?q=%20+&r=%2520"},
		"as the whole URL":                     {"{{ v }}", "https://x.test/a/b?c=d#e", "https://x.test/a/b?c=d#e"},
		"as the whole URL among white space":   {" {{ v }}\n", "https://x.test/a?b", "https://x.test/a?b\n"},
		"as the beginning":                     {"{{ v }}/orders/{{ '1/2' }}", "https://x.test/api", "https://x.test/api/orders/1%2F2"},
		"behind a beginning with a query":      {"{{ v }}&b={{ '1&2' }}", "https://x.test/?a=1", "https://x.test/?a=1&b=1%262"},
		"as the scheme":                        {"{{ v }}://x.test/", "https", "https://x.test/"},
		"in the scheme":                        {"http{{ v }}://x.test/{{ '/' }}", "s", "https://x.test/%2F"},
		"as the host":                          {"https://{{ v }}/{{ '/' }}", "api.x.test:8443", "https://api.x.test:8443/%2F"},
		"as an address of IPv6":                {"https://{{ v }}/", "[2001:db8::1]:80", "https://[2001:db8::1]:80/"},
		"as a name beyond ASCII":               {"https://{{ v }}/", "bücher.example", "https://bücher.example/"},
		"as the port":                          {"https://x.test:{{ v }}/", 8443.0, "https://x.test:8443/"},
		"an author who encodes is not helped":  {"https://x.test/{{ encodeURIComponent(v) }}?q={{encodeURIComponent(v)}}", "a b/ü", "https://x.test/a%20b%2F%C3%BC?q=a%20b%2F%C3%BC"},
		"encoding a part is no encoding":       {"https://x.test/{{ encodeURIComponent(v) + '/' }}", "ü", "https://x.test/%25C3%25BC%2F"},
		"an object is JSON, encoded":           {"https://x.test/?q={{ v }}", map[string]any{"a": 1.0}, "https://x.test/?q=%7B%22a%22%3A1%7D"},
		"numbers and booleans":                 {"https://x.test/{{ v }}/{{ true }}/{{ -1.5 }}", 7.0, "https://x.test/7/true/-1.5"},
		"nothing at all":                       {"https://x.test/a/{{ v }}/b", "", "https://x.test/a//b"},
		"three dots":                           {"https://x.test/{{ v }}", "...", "https://x.test/..."},
		"dots next to something":               {"https://x.test/a{{ v }}/{{ v }}b?{{ v }}", "..", "https://x.test/a../..b?.."},
		"the author's own dots":                {"https://x.test/a/../{{ v }}", "b", "https://x.test/a/../b"},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := resolve(t, c.template, map[string]any{"v": c.v})
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestAValueThatLeavesItsPlaceInAURLIsAFailure(t *testing.T) {
	const (
		host   = `the value stands in the URL where its host is, so it must be a name or an address, possibly with a port, such as "example.com:8080"; write the / that begins the path in front of the {{`
		scheme = `the value stands in the URL where its scheme is, so it must be letters and digits; what gives the whole beginning, such as "https://example.com", must stand first`
		dots   = `the value must not make a segment of the URL's path that is "." or "..", which receivers take for another folder`
	)
	for _, c := range []struct{ template, v, want string }{
		{"https://{{ v }}/x", "evil.test/y?", "url, line 1, column 11: " + host},
		{"https://{{ v }}/x", "a@evil.test", "url, line 1, column 11: " + host},
		{"https://{{ v }}/x", "evil.test#", "url, line 1, column 11: " + host},
		{"https://{{ v }}/x", `evil.test\`, "url, line 1, column 11: " + host},
		{"https://{{ v }}/x", "evil.test%2F", "url, line 1, column 11: " + host},
		{"https://x.test:{{ v }}/", "80 ", "url, line 1, column 18: " + host},
		{"{{ 'https://x.test' }}{{ v }}", "/y", "url, line 1, column 25: " + host},
		{"{{ '' }}{{ v }}", "https://evil.test", "url, line 1, column 11: " + scheme},
		{"http{{ v }}://x.test/", "://evil.test/?", "url, line 1, column 7: " + scheme},
		{"https://x.test/a/{{ v }}", "..", "url, line 1, column 20: " + dots},
		{"https://x.test/a/{{ v }}?b", ".", "url, line 1, column 20: " + dots},
		{"https://x.test/a/.{{ v }}/b", ".", "url, line 1, column 21: " + dots},
		{"https://x.test/a/%2E{{ v }}/b", ".", "url, line 1, column 23: " + dots},
		{"https://x.test/{{ 'a' }}/{{ v }}{{ v }}#", ".", "url, line 1, column 28: " + dots},
		{"https://x.test/a/{{ encodeURIComponent(v) }}/b", "..", "url, line 1, column 20: " + dots},
		{"https://x.test/?a={{ '😀'[0] }}", "", "url, line 1, column 21: half of a surrogate pair cannot be encoded; give whole characters"},
	} {
		got, err := resolve(t, c.template, map[string]any{"v": c.v})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s with %q gives %q, %v\nwant %s", c.template, c.v, got, err, c.want)
		}
	}
}

// maxTime is far above what it takes, so that a busy machine does not matter, and far below
// what quadratic work would take.
const maxTime = 5 * time.Second

func TestALongURLOfManyValuesIsMadeQuickly(t *testing.T) {
	for _, part := range []string{"{{1}}", "{{1}}/", "/{{1}}", "{{1}}.", ".x{{1}}"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if _, err := resolve(t, "https://"+strings.Repeat(part, 5000)+".x/", nil); err != nil {
			t.Errorf("%s: %v", part, err)
		}
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; took > maxTime || used > 64<<20 {
			t.Errorf("%s took %v and %d bytes", part, took, used)
		}
	}
}

// FuzzURLTemplate puts any two values into the path and the query: whatever they are,
// the host, the number of segments and the other parameters stay as they were, and the
// receiver reads the values that were meant.
func FuzzURLTemplate(f *testing.F) {
	for _, seed := range []string{"a", "", "..", "a/b", "?x=1&y=2", "#", "%2F%2e", "\r\n Host: evil", "é😀\u2028", "//evil.test/", "@evil", `\`, ";=+", "{{ v }}", "\x00"} {
		f.Add(seed, seed)
		f.Add("x", seed)
	}
	f.Fuzz(func(t *testing.T, v, w string) {
		if !utf8.ValidString(v) || !utf8.ValidString(w) {
			return // no JSON holds it
		}
		made, err := resolve(t, "https://api.x.test:8443/a/{{ v }}/b-{{ w }}/c?one=1&v={{ v }}&{{ w }}=w&last=2#{{ v }}", map[string]any{"v": v, "w": w})
		if err != nil {
			if v != "." && v != ".." {
				t.Fatalf("%q, %q: %v", v, w, err)
			}
			return
		}
		u, err := url.Parse(made)
		if err != nil {
			t.Fatalf("%q, %q give %q: %v", v, w, made, err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		for i := range segments {
			segments[i], _ = url.PathUnescape(segments[i])
		}
		got, _ := json.Marshal([]any{u.Scheme, u.Host, u.User == nil, segments, u.Query(), u.Fragment})
		query := url.Values{"one": {"1"}, "last": {"2"}}
		query.Add("v", v)
		query.Add(w, "w")
		if w == "one" || w == "last" || w == "v" {
			query = u.Query() // in another order
		}
		want, _ := json.Marshal([]any{"https", "api.x.test:8443", true, []string{"", "a", v, "b-" + w, "c"}, query, v})
		if string(got) != string(want) {
			t.Fatalf("%q, %q give %q:\n%s\nwant\n%s", v, w, made, got, want)
		}
	})
}
