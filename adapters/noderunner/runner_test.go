package noderunner_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// noon is when everything happens.
var noon = time.Date(2026, 3, 29, 12, 0, 0, 250_000_000, time.UTC)

// open gives a runner behind a guard that lets it call the test's servers, at noon.
func open(t testing.TB) *noderunner.Runner {
	t.Helper()
	allow, err := egress.ParseAllow([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Options{Allow: allow})
	t.Cleanup(guard.Close)
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	return noderunner.New(noderunner.Options{
		Clock: clock, Follow: guard.Client(egress.Follow), Stay: guard.Client(egress.Stay), UserAgent: "Sluice/test",
	})
}

// A type that claims an effect and that nothing runs would fail every run of it.
func TestThereIsSomethingThatRunsEveryBuiltInNodeWithAnEffect(t *testing.T) {
	for _, n := range node.BuiltIns(tenant.English) {
		outcome := run(t, outbound.NodeCall{Type: n.Type})
		failed, _ := outcome.(outbound.NodeFailed)
		if runs := failed.Code != "node_type_invalid"; runs != (n.HasEffect && !n.StartsRun || n.Computes) {
			t.Errorf("%s has an effect: %v, but its runner answers %+v", n.Type, n.HasEffect, outcome)
		}
	}
}

func TestRunner(t *testing.T) {
	portstest.NodeRunner(t, func(t *testing.T) outbound.NodeRunner { return open(t) })
}

// received is a request as a server saw it.
type received struct {
	Method, URL string
	Header      http.Header
	Body        string
}

// recorder keeps the last request and answers as told.
func recorder(t testing.TB, answer http.HandlerFunc) (url string, last func() received) {
	t.Helper()
	got := make(chan received, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case <-got:
		default:
		}
		got <- received{r.Method, r.URL.String(), r.Header, string(body)}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() received {
		select {
		case r := <-got:
			return r
		default:
			t.Fatal("nothing was called")
			return received{}
		}
	}
}

// says answers with a status, headers and a body.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// tree reads JSON as the gateway does.
func tree(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func run(t testing.TB, call outbound.NodeCall) outbound.NodeOutcome {
	t.Helper()
	outcome, err := open(t).Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if completed, ok := outcome.(outbound.NodeCompleted); ok {
		return outbound.NodeCompleted{Output: read(t, completed.Output)}
	}
	return outcome
}

// read reads the texts of JSON within an output.
func read(t testing.TB, output any) any {
	t.Helper()
	switch v := output.(type) {
	case json.RawMessage:
		return tree(t, string(v))
	case map[string]any:
		for name, member := range v {
			v[name] = read(t, member)
		}
	}
	return output
}

// A body takes memory only where there is room for it, small ones excepted.
func TestALargeAnswerWaitsForRoom(t *testing.T) {
	full := errors.New("full")
	for claim, c := range map[string]struct {
		length int
		header []string // pairs
		want   int64    // asked for; 0 for nothing
	}{
		"a small one":             {64<<10 - 1, nil, 0},
		"one of a known length":   {100 << 10, []string{"Content-Length", "102400"}, 300 << 10},
		"one of unknown length":   {100 << 10, nil, 3 << 20},
		"one that was compressed": {100 << 10, []string{"Content-Encoding", "gzip"}, 3 << 20},
	} {
		body := []byte(`"` + strings.Repeat("x", c.length-2) + `"`)
		if slices.Contains(c.header, "gzip") {
			body = zipped(t, body)
		}
		url, _ := recorder(t, says(200, string(body), append([]string{"Content-Type", "application/json"}, c.header...)...))
		for _, refuse := range []error{nil, full} {
			var asked int64
			call := request(t, `{"url": "URL"}`, url)
			call.ReserveMemory = func(_ context.Context, size int64) error { asked = size; return refuse }
			outcome, err := open(t).Run(t.Context(), call)
			_, completed := outcome.(outbound.NodeCompleted)
			if asked != c.want || err != nil || completed != (refuse == nil || c.want == 0) {
				t.Errorf("%s, with %v: %d bytes, %+v, %v", claim, refuse, asked, outcome, err)
			}
		}
	}
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestABuiltInNodeWithoutEffectIsNotRun(t *testing.T) {
	for _, kind := range []node.Type{node.Wait, node.Transform, node.TriggerWebhook} {
		want := outbound.NodeFailed{Code: "node_type_invalid", Message: fmt.Sprintf("A node of the type %s has no effect outside the gateway.", kind)}
		if diff := cmp.Diff(outbound.NodeOutcome(want), run(t, outbound.NodeCall{Type: kind})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWhatTheGuardRefusesIsAFailureWithItsCode(t *testing.T) {
	long, _ := recorder(t, says(200, strings.Repeat("x", egress.DefaultMaxBody+1)))
	for claim, c := range map[string]struct{ url, want string }{
		"an address":          {"http://127.0.0.2/", "address_refused"},
		"metadata":            {"http://169.254.169.254/latest/", "address_refused"},
		"credentials":         {"http://a:b@127.0.0.1/", "url_refused"},
		"a port":              {"http://127.0.0.1:25/", "port_refused"},
		"an answer too long":  {long, "response_too_large"},
		"no redirect to leak": {redirecting(t, "http://10.0.0.1/"), "address_refused"},
	} {
		for kind, call := range map[string]outbound.NodeCall{
			"httpRequest": {Type: node.HTTPRequest, Config: map[string]any{"url": c.url}},
			"custom":      {Type: "acme.price", Endpoint: c.url, Secrets: []domain.SigningSecret{newSecret}},
		} {
			want := c.want
			switch {
			case claim == "no redirect to leak" && kind == "custom":
				want = "unexpected_status"
			case claim == "credentials" && kind == "httpRequest":
				want = "config_invalid" // no configuration may hold them, published or resolved
			}
			f, ok := run(t, call).(outbound.NodeFailed)
			if !ok || f.Code != want || f.Retryable {
				t.Errorf("%s, %s: %+v", kind, claim, f)
			}
		}
	}
}

func TestAnAnswerIsAcceptedUpToTheGreatestBody(t *testing.T) {
	body := strings.Repeat("x", egress.DefaultMaxBody)
	url, _ := recorder(t, says(200, body, "X-Long", strings.Repeat("h", 60<<10)))
	completed, _ := run(t, request(t, `{"url": "URL"}`, url)).(outbound.NodeCompleted)
	if got, _ := completed.Output.(map[string]any); got["body"] != body {
		t.Errorf("the outcome is %.200v", completed)
	}
	url, _ = recorder(t, says(200, "x", "X-Long", strings.Repeat("h", 70<<10)))
	failed, _ := run(t, request(t, `{"url": "URL"}`, url)).(outbound.NodeFailed)
	if failed.Code != "response_headers_too_large" || failed.Retryable {
		t.Errorf("the outcome is %+v", failed)
	}
}

func redirecting(t testing.TB, to string) string {
	url, _ := recorder(t, says(http.StatusTemporaryRedirect, "", "Location", to))
	return url
}

// leaky is a caller whose errors tell too much.
type leaky struct{}

func (leaky) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("dial tcp 10.1.2.3:443 by 10.0.0.53: no route")
}

func TestNoWordOfTheNetworkReachesATenant(t *testing.T) {
	r := noderunner.New(noderunner.Options{Clock: &portstest.ManualClock{}, Follow: leaky{}, Stay: leaky{}, UserAgent: "x"})
	got, err := r.Run(context.Background(), outbound.NodeCall{Type: node.HTTPRequest, Config: map[string]any{"url": "https://example.com/?key=secret"}})
	want := outbound.NodeFailed{
		Code: "connection_failed", Message: "example.com could not be reached, or gave no answer that can be read.", Retryable: true,
	}
	if diff := cmp.Diff(outbound.NodeOutcome(want), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
