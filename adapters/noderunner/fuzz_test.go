package noderunner_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// violations is what is wrong with a value by the schema of a whole, as one text.
func violations(s node.Schema, value any) string {
	var r domain.Rules
	object, _ := value.(map[string]any)
	s.Check(&r, "", object)
	var texts []string
	for _, v := range r.Violations() {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "; ")
}

// canned is a caller that gives the same answer without a network.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c canned) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

func cannedRunner(status int, contentType, body string) *noderunner.Runner {
	c := canned{status, http.Header{"Content-Type": {contentType}, "Retry-After": {contentType}}, body}
	return noderunner.New(noderunner.Options{Clock: &portstest.ManualClock{}, Follow: c, Stay: c, UserAgent: "fuzz"})
}

// FuzzAnswer gives arbitrary answers to both kinds of node: there is an outcome that
// can be kept, and never an error.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", `{"success": true, "data": [1]}`)
	f.Add(200, "application/json", `{"success": false, "error": {"message": "m", "code": "c", "retryable": true}}`)
	f.Add(200, "text/plain; charset=iso-8859-1", `{"paused": true, "event": "e", "timeoutMs": 5}`)
	f.Add(503, "120", "\xff")
	f.Add(429, "Sun, 29 Mar 2026 12:00:10 GMT", strings.Repeat("[", 100))
	f.Add(200, "application/json", `{"success": true, "data": {"a": [1e400]}}`)
	f.Add(200, "application/json", `{"success": true, "data": {"a": 1e308, "b": "-1E+309"}, "more": -1E+309}`)
	f.Add(200, "application/json", `{"success": true, "data": 1`+strings.Repeat("0", 309)+`}`)
	schema, _ := node.BuiltIn(node.HTTPRequest)
	f.Fuzz(func(t *testing.T, status int, contentType, body string) {
		r := cannedRunner(status, contentType, body)
		for _, call := range []outbound.NodeCall{
			{Type: node.HTTPRequest, Config: map[string]any{"url": "http://example.com/"}},
			{Type: "acme.x", Endpoint: "http://example.com/", Secrets: []domain.SigningSecret{newSecret}, CanPause: len(body)%2 == 0},
		} {
			outcome, err := r.Run(context.Background(), call)
			if err != nil {
				t.Fatal(err)
			}
			switch o := outcome.(type) {
			case outbound.NodeCompleted:
				text, err := json.Marshal(o.Output)
				if err == nil {
					err = json.Unmarshal(text, new(any)) // which every reader must be able to
				}
				if err != nil || status/100 != 2 {
					t.Errorf("%d is completed with %v: %v", status, o.Output, err)
				}
				if call.Type == node.HTTPRequest && violations(schema.Output, read(t, o.Output)) != "" {
					t.Error(violations(schema.Output, read(t, o.Output)))
				}
			case outbound.NodeFailed:
				if o.Code == "" || !utf8.ValidString(o.Message) || strings.ContainsRune(o.Message+o.Code, 0) || o.RetryAfter < 0 {
					t.Errorf("%+v", o)
				}
			case outbound.NodePaused:
				if !call.CanPause || o.Timeout < 0 || !utf8.ValidString(o.Event) {
					t.Errorf("%+v", o)
				}
			default:
				t.Errorf("the outcome is %#v", outcome)
			}
		}
	})
}

// FuzzRequest gives arbitrary configurations: whatever they hold, there is an outcome.
func FuzzRequest(f *testing.F) {
	f.Add(`{"url": "http://example.com/", "method": "POST", "headers": {"a": [1, null]}, "query": {"b": true}, "body": {"c": 1e400}}`)
	f.Add(`{"url": "http://[::1%25lo]/", "timeoutMs": 1, "expectStatus": [200]}`)
	f.Add(`{"url": "http://a/", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": {"a": [{}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var config map[string]any
		if dec.Decode(&config) != nil {
			return
		}
		outcome, err := cannedRunner(200, "", "").Run(context.Background(), outbound.NodeCall{Type: node.HTTPRequest, Config: config})
		if err != nil || outcome == nil {
			t.Errorf("%s: %v, %v", text, outcome, err)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	r := cannedRunner(200, "application/json", `{"success": true, "data": {"total": 12.5}}`)
	for name, call := range map[string]outbound.NodeCall{
		"httpRequest": {Type: node.HTTPRequest, IdempotencyKey: "run_1:call", Config: map[string]any{
			"url": "http://example.com/orders", "method": "POST", "headers": map[string]any{"x-a": "b"}, "body": map[string]any{"a": 1.0},
		}},
		"custom": custom("http://example.com/"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Run(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
