package expression_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

const (
	lengthensHost = "the value would lengthen the host that is written in front of it; write the / that begins the path in front of the {{, or give the whole host by one expression, https://{{ … }}/"
	lengthensPort = "the value would be a part of the port; write the whole port, or give all of it by one expression"
	hasCredential = "the URL must not hold credentials; send them in a header, such as Authorization"
	behindOpening = "the value gives the beginning of the URL, so what is written behind it must begin with /, ? or #; write out the scheme, https://{{ … }}, or give scheme and host by the expression alone"
	betweenThem   = "the value would stand between the scheme and the host; write the // in front of the {{"
)

func TestAnExpressionThatTouchesAWrittenHostDoesNotCompile(t *testing.T) {
	for template, want := range map[string]string{
		"https://api.x.test{{ v }}":            "line 1, column 21: " + lengthensHost,
		" https://api.x.test{{ v }}/orders":    "line 1, column 22: " + lengthensHost,
		"https://api.x.test{{ v }}?a=b":        "line 1, column 21: " + lengthensHost,
		"https://api.x.test{{ v }}#a":          "line 1, column 21: " + lengthensHost,
		"https://api.x.test.{{ v }}./":         "line 1, column 22: " + lengthensHost,
		"https://www.{{ v }}/":                 "line 1, column 15: " + lengthensHost,
		"https://{{ v }}.x{{ v }}:80/":         "line 1, column 20: " + lengthensHost,
		"https://x.test{{ v }}:{{ v }}/":       "line 1, column 17: " + lengthensHost,
		"{{ v }}://x.test{{ v }}":              "line 1, column 19: " + lengthensHost,
		"https://[::1{{ v }}]/":                "line 1, column 15: " + lengthensHost,
		"https://10.0.0.{{ v }}/":              "line 1, column 18: " + lengthensHost,
		"https://x.test:80{{ v }}/":            "line 1, column 20: " + lengthensPort,
		"https://x.test:{{ v }}0/":             "line 1, column 18: " + lengthensPort,
		"https://{{ v }}@x.test/":              "line 1, column 11: " + hasCredential,
		"https://x.test:80:{{ v }}@evil.test/": "line 1, column 21: " + hasCredential,
		"{{ v }}.x.test/orders":                "line 1, column 3: " + behindOpening,
		" {{ v }}-api.x.test/orders":           "line 1, column 4: " + behindOpening,
		"{{ v }}@x.test/":                      "line 1, column 3: " + behindOpening,
		"{{ v }}:8443/":                        "line 1, column 3: " + behindOpening,
		"{{ v }}//x.test/":                     "line 1, column 3: " + behindOpening,
		"{{ v }}{{ v }}.x.test/":               "line 1, column 3: " + behindOpening,
		"https:{{ v }}":                        "line 1, column 9: " + betweenThem,
		"https:/{{ v }}/x":                     "line 1, column 10: " + betweenThem,
		"https://x.test/{{ v }":                "line 1, column 21: unexpected }; nothing is open that it could close",

		"{{ v }}":                        "",
		"{{ v }}/orders":                 "",
		" {{ v }}{{ v }}":                "",
		" {{ v }} ":                      "",
		"{{ v }}?a=b":                    "",
		"{{ v }}&a=b":                    "",
		"https://{{ v }}":                "",
		"https://{{ v }}/":               "",
		"https://{{ v }}:8443/":          "",
		"https://{{ v }}:{{ v }}/":       "",
		"https://{{ v }}.{{ v }}/":       "",
		"https://{{ v }}.x.test/":        "",
		"https://api-{{ v }}.x.test/":    "",
		"https://[{{ v }}]:80/":          "",
		"https://x.test:{{ v }}/":        "",
		"https://x.test/{{ v }}@{{ v }}": "",
		"https://x.test?{{ v }}":         "",
		"http{{ v }}://x.test/":          "",
		"{{ v }}://x.test/":              "",
		"https://x.test":                 "",
	} {
		got := expression.Checker{}.Check(workflow.Source{Text: template, Form: workflow.URLTemplate, Roots: []workflow.Root{{Name: "v"}}}).Problem
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", template, diff)
		}
		_, err := expression.Compiler{}.CompileTemplates(map[string]any{"url": run.URLTemplate(template)}, "v")
		if (err == nil) != (want == "") {
			t.Errorf("%s: a run compiles it with %v", template, err)
		}
	}
}

func TestAValueLeavesTheWrittenHostAsItIs(t *testing.T) {
	const (
		noPort  = "the value is a part of the URL's host, so it must hold no port and no brackets; give host and port by one expression, https://{{ … }}/"
		noDots  = "the value stands behind what is written of the URL's host, so it must hold no dots; give the whole host by one expression, https://{{ … }}/"
		aNumber = "the value stands in the URL where its port is, so it must be a whole number, such as 8443"
		scheme  = `the value stands in the URL where its scheme is, so it must be letters and digits; what gives the whole beginning, such as "https://example.com", must stand first`
	)
	for _, c := range []struct{ template, v, want string }{
		{"{{ v }}://x.test/", "https", "https://x.test/"},
		{"{{ v }}s://x.test/", "http", "https://x.test/"},
		{"{{ v }}://x.test/", "https://evil.test/?", "url, line 1, column 3: " + scheme},
		{"{{ v }}{{ 's' }}://x.test/", "//evil.test/", "url, line 1, column 3: " + scheme},
		{"{{ v }}/a://x.test/", "https://x.test", "https://x.test/a://x.test/"},
		{"{{ v }}{{ '.evil.test' }}/a", "https://x.test", "url, line 1, column 10: " + lengthensHost},
		{"{{ v }}{{ '' }}/a", "https://x.test", "https://x.test/a"},
		{"{{ v }}{{ '.x' }}/a", "https://api", "url, line 1, column 10: " + lengthensHost},
		{"{{ v }}{{ 0 }}/a", "https://x.test:8", "url, line 1, column 10: " + lengthensPort},
		{"https://api-{{ v }}.x.test/", "eu-west-1", "https://api-eu-west-1.x.test/"},
		{"https://api.x{{ v }}.test/", ".evil", "url, line 1, column 16: " + noDots},
		{"https://api.x{{ v }}.test/", "\u3002evil", "url, line 1, column 16: " + noDots},
		{"https://{{ v }}.x.test/", "a.b", "https://a.b.x.test/"},
		{"https://{{ v }}.x.test/", "evil.test:80", "url, line 1, column 11: " + noPort},
		{"https://{{ v }}.x.test/", "[::1]", "url, line 1, column 11: " + noPort},
		{"https://{{ v }}.x.test", "evil.test:80", "url, line 1, column 11: " + noPort},
		{"https://{{ v }}:8443/", "x.test", "https://x.test:8443/"},
		{"https://{{ v }}:8443/", "[2001:db8::1]", "https://[2001:db8::1]:8443/"},
		{"https://{{ v }}:8443/", "x.test:80", "url, line 1, column 11: " + noPort},
		{"https://[{{ v }}]/", "2001:db8::1", "https://[2001:db8::1]/"},
		{"https://x.test:{{ v }}/", "443", "https://x.test:443/"},
		{"https://x.test:{{ v }}/", "", "https://x.test:/"},
		{"https://x.test:{{ v }}/", "x443", "url, line 1, column 18: " + aNumber},
	} {
		got, err := resolve(t, c.template, map[string]any{"v": c.v})
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %q gives\n%s, want\n%s", c.template, c.v, got, c.want)
		}
	}
}

// FuzzURLAuthority puts any value in every place of a host with a written ending: where
// it goes through, the request goes to a host that ends in what is written, and to the
// port that is.
func FuzzURLAuthority(f *testing.F) {
	for _, seed := range []string{"a", "", ".", ".evil.test", "evil.test:80", "[::1]", "@evil", "evil/", "\\evil", "//evil", "https", "8443", "é", "\u3002x", "a:b", "]"} {
		f.Add(seed)
	}
	templates := []struct{ text, host, port string }{
		{"https://{{ v }}.x.test:8443/", ".x.test", "8443"},
		{"https://api-{{ v }}.x.test/", ".x.test", ""},
		{"https://{{ v }}{{ v }}.x.test?q", ".x.test", ""},
		{"{{ v }}://api.x.test:8443/{{ v }}", "api.x.test", "8443"},
		{"https://{{ v }}-a.{{ v }}-b.test#", "-b.test", ""},
	}
	f.Fuzz(func(t *testing.T, v string) {
		if !utf8.ValidString(v) {
			return // no JSON holds it
		}
		for _, c := range templates {
			made, err := resolve(t, c.text, map[string]any{"v": v})
			if err != nil {
				continue
			}
			u, err := url.Parse(made)
			if err != nil {
				continue // not called
			}
			if !strings.HasSuffix(u.Hostname(), c.host) || u.Port() != c.port || u.User != nil {
				t.Fatalf("%s with %q gives %q: host %q, port %q", c.text, v, made, u.Hostname(), u.Port())
			}
		}
	})
}
