package noderunner_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/ports/outbound"
)

// request is a call of an httpRequest whose configuration is the JSON, with URL in
// place of the server's.
func request(t testing.TB, config, url string) outbound.NodeCall {
	t.Helper()
	values, ok := tree(t, strings.ReplaceAll(config, "URL", url)).(map[string]any)
	if !ok {
		t.Fatalf("%s is no object", config)
	}
	return outbound.NodeCall{Type: node.HTTPRequest, Config: values, IdempotencyKey: "run_1:call"}
}

func TestARequestIsMadeAsConfigured(t *testing.T) {
	basic := func(more ...string) http.Header {
		h := http.Header{"Accept-Encoding": {"gzip"}, "Idempotency-Key": {"run_1:call"}, "User-Agent": {"Sluice/test"}}
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = append(h[more[i]], more[i+1])
		}
		return h
	}
	for claim, c := range map[string]struct {
		config string
		want   received
	}{
		"the URL alone is a GET": {`{"url": "URL/a%20b?x=1#y"}`, received{"GET", "/a%20b?x=1", basic(), ""}},
		"a URL with spaces around it": {
			`{"url": " URL/a\n"}`, received{"GET", "/a", basic(), ""},
		},
		"the query is added in order of the names": {
			`{"url": "URL/?z=%2F", "query": {"b": [1, true, null, "x y"], "a": 1.50, "c": null, "d": "ü&="}}`,
			received{"GET", "/?z=%2F&a=1.50&b=1&b=true&b=x+y&d=%C3%BC%26%3D", basic(), ""},
		},
		"a query with what may not stand in one": {
			`{"url": "URL/é f?q=ü <\"x\">&r=%20+{}|%zz"}`, received{"GET", "/%C3%A9%20f?q=%C3%BC%20%3C%22x%22%3E&r=%20+%7B%7D%7C%zz", basic(), ""},
		},
		"headers": {
			`{"url": "URL", "headers": {"x-a": "1", "X-B": [2, false], "x-c": null, "Authorization": "Bearer x"}}`,
			received{"GET", "/", basic("X-A", "1", "X-B", "2", "X-B", "false", "Authorization", "Bearer x"), ""},
		},
		"headers of the author's own": {
			`{"url": "URL", "headers": {"idempotency-key": "mine", "user-agent": "me"}}`,
			received{"GET", "/", http.Header{"Accept-Encoding": {"gzip"}, "Idempotency-Key": {"mine"}, "User-Agent": {"me"}}, ""},
		},
		"a body is JSON": {
			`{"method": "POST", "url": "URL", "body": {"b": 1.50, "a": "<é>"}}`,
			received{"POST", "/", basic("Content-Type", "application/json", "Content-Length", "21"), `{"a":"<é>","b":1.50}`},
		},
		"an array is JSON": {
			`{"method": "PUT", "url": "URL", "body": [null]}`,
			received{"PUT", "/", basic("Content-Type", "application/json", "Content-Length", "6"), `[null]`},
		},
		"false is JSON": {
			`{"method": "PATCH", "url": "URL", "body": false}`,
			received{"PATCH", "/", basic("Content-Type", "application/json", "Content-Length", "5"), `false`},
		},
		"a text is sent as it is": {
			`{"method": "POST", "url": "URL", "body": "a\u0000b"}`,
			received{"POST", "/", basic("Content-Type", "text/plain; charset=utf-8", "Content-Length", "3"), "a\x00b"},
		},
		"a text of another type": {
			`{"method": "POST", "url": "URL", "headers": {"content-type": "text/xml"}, "body": "<a/>"}`,
			received{"POST", "/", basic("Content-Type", "text/xml", "Content-Length", "4"), "<a/>"},
		},
		"an object as a form": {
			`{"method": "POST", "url": "URL", "headers": {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, "body": {"b": [1, 2], "a": "x y", "c": null}}`,
			received{"POST", "/", basic("Content-Type", "application/x-www-form-urlencoded; charset=utf-8", "Content-Length", "13"), "a=x+y&b=1&b=2"},
		},
		"null is no body": {
			`{"method": "DELETE", "url": "URL", "body": null}`, received{"DELETE", "/", basic(), ""},
		},
	} {
		url, last := recorder(t, says(204, ""))
		outcome := run(t, request(t, c.config, url))
		if _, ok := outcome.(outbound.NodeCompleted); !ok {
			t.Errorf("%s: %+v", claim, outcome)
			continue
		}
		if diff := cmp.Diff(c.want, last()); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestTheAnswerIsTheOutput(t *testing.T) {
	schema, _ := node.BuiltIn(node.HTTPRequest)
	for claim, c := range map[string]struct {
		answer http.HandlerFunc
		want   any // the body
	}{
		"JSON":                       {says(200, `{"n": 12.50, "big": 12345678901234567890}`, "Content-Type", "application/json"), tree(t, `{"n": 12.50, "big": 12345678901234567890}`)},
		"JSON of a kind":             {says(200, `[1]`, "Content-Type", "application/problem+json; charset=utf-8"), tree(t, `[1]`)},
		"JSON null":                  {says(200, `null`, "Content-Type", "text/json"), nil},
		"JSON after a mark":          {says(200, "\ufeff{}", "Content-Type", "application/json"), map[string]any{}},
		"malformed JSON":             {says(200, `{"a":`, "Content-Type", "application/json"), `{"a":`},
		"JSON that nests too deep":   {says(200, nested(65), "Content-Type", "application/json"), nested(65)},
		"JSON that says it is text":  {says(200, `{}`, "Content-Type", "text/plain"), `{}`},
		"text":                       {says(200, "é\x00", "Content-Type", "text/plain"), "é\x00"},
		"text in Latin-1":            {says(200, "\xe9", "Content-Type", "text/plain; charset=ISO-8859-1"), "é"},
		"what is no text":            {says(200, "\xff\x00", "Content-Type", "image/png"), map[string]any{"base64": "/wA="}},
		"a type that cannot be read": {says(200, "x", "Content-Type", ";;"), "x"},
		"nothing":                    {says(204, ""), nil},
	} {
		url, _ := recorder(t, c.answer)
		completed, ok := run(t, request(t, `{"url": "URL"}`, url)).(outbound.NodeCompleted)
		got, _ := completed.Output.(map[string]any)
		if diff := cmp.Diff(c.want, got["body"]); diff != "" || !ok {
			t.Errorf("%s: %s", claim, diff)
		}
		if found := violations(schema.Output, completed.Output); found != "" {
			t.Errorf("%s: the output does not fit its schema: %s", claim, found)
		}
	}
}

func TestHeadersOfTheAnswer(t *testing.T) {
	url, _ := recorder(t, says(201, "", "Set-Cookie", "a=1", "Set-Cookie", "b=2, c", "X-Odd", "\xff", "Vary", "A", "Vary", "B", "Date", "now"))
	completed, _ := run(t, request(t, `{"url": "URL"}`, url)).(outbound.NodeCompleted)
	want := map[string]any{
		"status": 201.0,
		"headers": map[string]any{
			"content-length": "0", "date": "now", "set-cookie": []any{"a=1", "b=2, c"}, "vary": "A, B", "x-odd": "\ufffd",
		},
		"body": nil,
	}
	if diff := cmp.Diff(any(want), completed.Output); diff != "" {
		t.Error(diff)
	}
	if _, err := json.Marshal(completed.Output); err != nil {
		t.Error(err)
	}
}

func TestWhatAConfigurationExpects(t *testing.T) {
	for claim, c := range map[string]struct {
		config string
		status int
		want   bool
	}{
		"any 2xx":                           {`{"url": "URL"}`, 206, true},
		"no 3xx":                            {`{"url": "URL"}`, 304, false},
		"no 4xx":                            {`{"url": "URL"}`, 404, false},
		"one status":                        {`{"url": "URL", "expectStatus": 404}`, 404, true},
		"one status and no other":           {`{"url": "URL", "expectStatus": 404}`, 200, false},
		"one of several":                    {`{"url": "URL", "expectStatus": [200, 4.04e2]}`, 404, true},
		"none of several":                   {`{"url": "URL", "expectStatus": [200, 404]}`, 500, false},
		"a status as text":                  {`{"url": "URL", "expectStatus": "404"}`, 404, true},
		"a range of statuses":               {`{"url": "URL", "expectStatus": "400-404"}`, 404, true},
		"a status beyond a range":           {`{"url": "URL", "expectStatus": ["200-299", "400-403"]}`, 404, false},
		"a redirect within a range":         {`{"url": "URL", "expectStatus": "200-399"}`, 302, true},
		"any success, where none is said":   {`{"url": "URL", "expectStatus": "", "timeoutMs": "5000", "headers": [], "body": ""}`, 204, true},
		"a redirect itself":                 {`{"url": "URL", "expectStatus": 302}`, 302, true},
		"an answer that would be retryable": {`{"url": "URL", "expectStatus": 503}`, 503, true},
	} {
		url, _ := recorder(t, says(c.status, "", "Location", "http://127.0.0.1:1/"))
		outcome := run(t, request(t, c.config, url))
		if _, got := outcome.(outbound.NodeCompleted); got != c.want {
			t.Errorf("%s: %+v", claim, outcome)
		}
	}
}

func TestARedirectIsFollowedToTheAnswer(t *testing.T) {
	end, _ := recorder(t, says(200, "here"))
	completed, _ := run(t, request(t, `{"url": "URL"}`, redirecting(t, end))).(outbound.NodeCompleted)
	if got, _ := completed.Output.(map[string]any); got["body"] != "here" {
		t.Errorf("the output is %v", completed.Output)
	}
}

func TestAConfigurationThatCannotBeUsedNamesEveryMistake(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                           "config.url must be given: a string",
		`{"url": 5}`:                   "config.url must be a string, not a number",
		`{"url": "/orders"}`:           "config.url must be an absolute http or https URL, such as https://example.com/orders",
		`{"url": "ftp://a/"}`:          "config.url must be an absolute http or https URL, such as https://example.com/orders",
		`{"url": "http://a b/%zz"}`:    "config.url must be an absolute http or https URL, such as https://example.com/orders",
		`{"url": "URL", "query": "a"}`: "config.query must be an object, not a string",
		`{"url": "URL", "query": {"a": {}}, "headers": {"a b": "x", "X": "a\nb", "host": "h", "Y": {}, "A": 1, "a": 2}}`: "config.headers.X must not contain line breaks or other control characters; " +
			"config.headers.Y must be a string, a number, a boolean or an array of such; " +
			"config.headers.a repeats the header A; " +
			"config.headers.a b must have the name of a header, such as X-Request-Source; a name holds no expressions; " +
			"config.headers.host must be left out: the gateway sets this header; " +
			"config.query.a must be a string, a number, a boolean or an array of such",
		`{"url": "URL", "expectStatus": 99, "timeoutMs": 0}`:                                                  "config.timeoutMs must be at least 1, not 0; config.expectStatus must be a status code from 100 to 599, or a range such as \"200-299\", not 99",
		`{"url": "URL", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": {"a": {}}}`: "config.body.a must be a string, a number, a boolean or an array of such",
	} {
		url, _ := recorder(t, says(200, ""))
		got := run(t, request(t, config, url))
		wanted := outbound.NodeFailed{Code: "config_invalid", Message: "The configuration cannot be used: " + want + "."}
		if diff := cmp.Diff(outbound.NodeOutcome(wanted), got); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
}

func TestTheTimeOfACallWinsOverTheConfiguredOne(t *testing.T) {
	for claim, c := range map[string]struct {
		config string
		call   time.Duration
		want   string
	}{
		"the configured one":     {`{"url": "URL", "timeoutMs": 20}`, 0, "within 20ms."},
		"the call's, if shorter": {`{"url": "URL", "timeoutMs": 200000}`, 30 * time.Millisecond, "within 30ms."},
		"the call's, if longer":  {`{"url": "URL", "timeoutMs": 1}`, 40 * time.Millisecond, "within 40ms."},
	} {
		url, _ := recorder(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		call := request(t, c.config, url)
		call.Timeout = c.call
		f, _ := run(t, call).(outbound.NodeFailed)
		if f.Code != "timeout" || !f.Retryable || !strings.HasSuffix(f.Message, c.want) {
			t.Errorf("%s: %+v", claim, f)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, " 120 ": 2 * time.Minute, "86400": 24 * time.Hour,
		"86401": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
		"Sun, 29 Mar 2026 12:00:10 GMT": 10*time.Second - 250*time.Millisecond,
		"Sun, 29 Mar 2026 11:00:00 GMT": 0, "Fri, 31 Dec 2100 00:00:00 GMT": 24 * time.Hour,
		"Sunday, 29-Mar-26 12:01:00 GMT": time.Minute - 250*time.Millisecond,
		"-1":                             0, "1.5": 0, "soon": 0, "": 0,
	} {
		url, _ := recorder(t, says(503, "", "Retry-After", text))
		want := outbound.NodeFailed{
			Code: "unexpected_status", Message: strings.TrimPrefix(url, "http://") + " answered 503 Service Unavailable", Retryable: true, RetryAfter: want,
		}
		if diff := cmp.Diff(outbound.NodeOutcome(want), run(t, request(t, `{"url": "URL"}`, url))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
