package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

func TestTheURLOfARequest(t *testing.T) {
	const (
		absolute    = "url must be an absolute http or https URL, such as https://example.com/orders (bad_format)"
		credentials = "url must not hold credentials; send them in a header, such as Authorization (not_allowed)"
	)
	for url, want := range map[string]string{
		"https://example.com": "", "HTTP://EXAMPLE.com:8080/a b?c=d e#f": "", " https://example.com/\n": "", "http://localhost:3000/": "",
		"http://[2001:db8::1]:80/": "", "http://[fe80::1%25eth0]/": "", "http://192.0.2.1/": "", "https://bücher.example/": "", "https://my_host/~a": "",
		"https://x.test:65535/": "", "https://x.test:/": "",
		"htp:/x": absolute, "ftp://x.test/": absolute, "file:///etc/passwd": absolute, "x.test/a": absolute, "//x.test/": absolute,
		"https://": absolute, "https:///x": absolute, "https://?q": absolute, "https://:80/": absolute, "https:x.test": absolute, "https:/x.test": absolute,
		"javascript:alert(1)": absolute, "https://x.test/%zz": absolute, "https://x.test/a\nb": absolute, "https://x y/": absolute,
		"https://x.test:port/": absolute, "https://[::1/": absolute, "/orders": absolute, "   ": absolute, "https//x.test": absolute,
		"https://me:secret@x.test/": credentials, "https://me@x.test/": credentials,
		"https://x.test:0/":       `url must have a port from 1 to 65535, not "0" (bad_format)`,
		"https://x.test:65536/":   `url must have a port from 1 to 65535, not "65536" (bad_format)`,
		"https://<host>/":         `url must name a host such as example.com, not "<host>" (bad_format)`,
		"https://a,b/":            `url must name a host such as example.com, not "a,b" (bad_format)`,
		"https://$%7Bhost%7D.io/": absolute,
	} {
		got := strings.Join(render(checkRequest(t, map[string]any{"url": url})), "; ")
		if got != want {
			t.Errorf("%q: %q, not %q", url, got, want)
		}
	}
}

var request, _ = node.BuiltIn(node.HTTPRequest)

// checkRequest is what is wrong with a configuration of an httpRequest.
func checkRequest(t testing.TB, config map[string]any) []domain.Violation {
	t.Helper()
	var r domain.Rules
	request.CheckConfig(&r, "", config)
	return r.Violations()
}

func TestTheFieldsOfARequest(t *testing.T) {
	const scalars = " must be a string, a number, a boolean or an array of such (wrong_type)"
	for claim, c := range map[string]struct {
		config string
		want   []string
	}{
		"headers of every shape": {`{"headers": {"X-A": "a\tb é", "x_b": 1, "x.c": [true, null, "x"], "Host": null, "a b": null}}`, nil},
		"names of headers": {`{"headers": {"": "x", "a b": "x", "a:": "x", "é": "x", "X-{{ input.a }}": "x", "a\nb": "x"}}`, []string{
			"headers. must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)",
			"headers.X-{{ input.a }} must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)",
			`headers.a\u000ab must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)`,
			"headers.a b must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)",
			"headers.a: must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)",
			"headers.é must have the name of a header, such as X-Request-Source; a name holds no expressions (bad_format)",
		}},
		"headers of the connection": {`{"headers": {"host": "a", "CONTENT-LENGTH": 1, "Transfer-Encoding": "chunked", "te": "x"}}`, []string{
			"headers.CONTENT-LENGTH must be left out: the gateway sets this header (not_allowed)",
			"headers.Transfer-Encoding must be left out: the gateway sets this header (not_allowed)",
			"headers.host must be left out: the gateway sets this header (not_allowed)",
			"headers.te must be left out: the gateway sets this header (not_allowed)",
		}},
		"values of headers": {`{"headers": {"a": "x\r\nb: c", "b": "x\u0000", "c": ["x", "\u007f"], "d": {"x": 1}, "e": [["x"]]}}`, []string{
			"headers.a must not contain line breaks or other control characters (bad_character)",
			"headers.b must not contain line breaks or other control characters (bad_character)",
			"headers.c must not contain line breaks or other control characters (bad_character)",
			"headers.d" + scalars, "headers.e" + scalars,
		}},
		"a header twice":           {`{"headers": {"X-A": "1", "x-a": "2"}}`, []string{"headers.x-a repeats the header X-A (duplicate)"}},
		"a query of every shape":   {`{"query": {"a": [1, null, true, "x\n"], "b": null, "": "x"}}`, nil},
		"values of a query":        {`{"query": {"a": {}, "b": [[1]]}}`, []string{"query.a" + scalars, "query.b" + scalars}},
		"a form":                   {`{"headers": {"content-type": "Application/x-www-form-urlencoded; charset=utf-8"}, "body": {"a": {"b": 1}, "c": [1]}}`, []string{"body.a" + scalars}},
		"JSON may nest":            {`{"body": {"a": {"b": 1}}}`, nil},
		"a form written as a text": {`{"headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "a=1"}`, nil},
		"other types":              {`{"headers": ["a"], "query": "a=b", "method": "FETCH"}`, []string{`method must be "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD" or "OPTIONS", not "FETCH" (not_allowed)`, "headers must be an object, not an array (wrong_type)", "query must be an object, not a string (wrong_type)"}},
	} {
		config := tree(t, c.config)
		config["url"] = "https://x.test/"
		if diff := cmp.Diff(c.want, render(checkRequest(t, config))); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestTheFixedBeginningOfAURL(t *testing.T) {
	const wrong = "c.url must begin with http:// or https:// and a host, as https://example.com/ does, or with an expression that gives them (bad_format)"
	const credentials = "c.url must not hold credentials; send them in a header, such as Authorization (not_allowed)"
	for text, want := range map[string]string{
		"{{ input.url }}": "", " \n{{ input.url }}/a": "", "{{ input.scheme }}://x.test": "", "http{{ 's' }}://x.test/": "", "HTTPS://{{ input.host }}/": "", "https:{{ x }}": "",
		"https://x.test/{{ input.id }}": "", "https://x.test?{{ input.id }}": "", "https://x.test:{{ input.port }}/": "", "https://[{{ input.ip }}]/": "", "https://x.{{ input.zone }}.test/": "",
		"htp:/{{ input.id }}": wrong, "ftp://x.test/{{ input.id }}": wrong, "x.test/{{ input.id }}": wrong, "/orders/{{ input.id }}": wrong, "httpx{{ input.id }}": wrong,
		"https://x y{{ input.id }}": wrong, "https://<{{ input.host }}>/": wrong,
		"https:///x{{ input.id }}":            "c.url must be an absolute http or https URL, such as https://example.com/orders (bad_format)",
		"https://x.test:99999/{{ input.id }}": `c.url must have a port from 1 to 65535, not "99999" (bad_format)`,
		"https://a:b@x.test/{{ input.id }}":   credentials,
		"https://a@x{{ input.id }}":           credentials,
	} {
		var r domain.Rules
		request.CheckTemplate(&r, "c", "c.url", text)
		if got := strings.Join(render(r.Violations()), "; "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestTheFixedPartsOfAHeader(t *testing.T) {
	for text, fits := range map[string]bool{
		"Bearer {{ input.token }}": true, "{{ input.a\n + 1 }}": true, "a{{ 1 }}\tb": true, "a{{ '}}' }}b": true,
		"a\n{{ 1 }}": false, "{{ 1 }}\r\nX: y": false, "{{ '}}' }}\x00": false,
	} {
		var r domain.Rules
		request.CheckTemplate(&r, "c", "c.headers.h", text)
		if got := len(r.Violations()) == 0; got != fits {
			t.Errorf("%q fits: %v", text, got)
		}
	}
}

// FuzzRequestConfig checks any configuration: it ends, with paths and messages that can be
// shown, and no more findings of one kind than are worth showing.
func FuzzRequestConfig(f *testing.F) {
	f.Add(`{"url": "http://[::1%25lo]:0/", "headers": {"a\u0000": [{}], "HOST": "\n"}, "query": {"a": {}}, "body": [1e400]}`)
	f.Add(`{"url": "https://a:b@c\\d/{{", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": {"\ud800": {}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var config map[string]any
		if json.Unmarshal([]byte(text), &config) != nil {
			return
		}
		for _, v := range checkRequest(t, config) {
			if v.Field == "" || v.Message == "" || v.Code == "" || strings.ContainsRune(v.String(), 0) {
				t.Errorf("%s: %+v", text, v)
			}
		}
		url, _ := config["url"].(string)
		var r domain.Rules
		request.CheckTemplate(&r, "c", "c.url", url)
		request.CheckTemplate(&r, "c", "c.headers.h", url)
	})
}
