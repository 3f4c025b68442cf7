package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestValuesStayInTheirPlacesInARequest(t *testing.T) {
	p := plan(t, nodes(
		`a httpRequest {"url": "https://x.test/{{ input.id }}?q={{ payload.q }}", "headers": {"X-A": "{{ input.q }}"}, "query": {"r": "{{ input.q }}"}, "body": "{{ input.id }}/{{ input.q }}"}`,
		`b httpRequest {"url": "{{ input.base }}/{{ input.id }}"}`, `c httpRequest {"url": "https://x.test/é b", "body": "{{ input.q }}"}`,
	), nil)
	w := begin(t, p, start(`{"id": "a/b", "q": "x&y #", "base": "https://y.test:8443/v1"}`))
	want := map[string]any{
		"a": map[string]any{
			"url": "https://x.test/a%2Fb?q=x%26y%20%23", "headers": map[string]any{"X-A": "x&y #"}, "query": map[string]any{"r": "x&y #"}, "body": "a/b/x&y #",
			"method": "GET", "timeoutMs": 30000.0,
		},
		"b": map[string]any{"url": "https://y.test:8443/v1/a%2Fb", "method": "GET", "timeoutMs": 30000.0},
		"c": map[string]any{"url": "https://x.test/é b", "body": "x&y #", "method": "GET", "timeoutMs": 30000.0},
	}
	got := map[string]any{}
	for id, asked := range w.open {
		got[string(id)] = asked.Config
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAValueThatMakesNoRequestFailsTheNode(t *testing.T) {
	for claim, c := range map[string]struct{ config, payload, want string }{
		"a host that leads elsewhere": {`{"url": "https://{{ input.host }}/x"}`, `{"host": "evil.test/?"}`,
			`config: url, line 1, column 11: the value stands in the URL where its host is, so it must be a name or an address`},
		"a folder above":               {`{"url": "https://x.test/a/{{ input.id }}"}`, `{"id": ".."}`, `config: url, line 1, column 20: the value must not make a segment of the URL's path that is "." or ".."`},
		"a URL of another scheme":      {`{"url": "{{ input.url }}"}`, `{"url": "file:///etc/passwd"}`, `config.url must be an absolute http or https URL`},
		"a URL with credentials":       {`{"url": "{{ input.url }}"}`, `{"url": "https://me@x.test/"}`, `config.url must not hold credentials`},
		"no URL at all":                {`{"url": "{{ input.url }}"}`, `{}`, `config.url must be given`},
		"a header with a line break":   {`{"url": "https://x.test/", "headers": {"X-A": "{{ input.a }}"}}`, `{"a": "1\r\nX-B: 2"}`, `config.headers.X-A must not contain line breaks`},
		"a method that does not exist": {`{"url": "https://x.test/", "method": "{{ input.m }}"}`, `{"m": "FETCH"}`, `config.method must be "GET"`},
	} {
		w := begin(t, plan(t, nodes("a httpRequest "+c.config), nil), start(c.payload))
		if f := w.run.Failure(); f == nil || len(w.open) > 0 || len(f.Message) < len(c.want) || f.Message[:len(c.want)] != c.want || w.run.Status() != run.StatusFailed {
			t.Errorf("%s: the run is %s with %+v", claim, w.run.Status(), f)
		}
	}
}
