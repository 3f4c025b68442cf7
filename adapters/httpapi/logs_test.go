package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/portstest"
)

// secretShape fits API keys and the secrets of webhook endpoints, what is left of one
// that was cut in half, and the operator's token.
var secretShape = regexp.MustCompile(`[ps]k_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=_-]{16,}|` + regexp.QuoteMeta(operatorToken))

// logSink keeps what a gateway logs. Every test of this package logs into one, and a
// line that holds a secret fails it.
type logSink struct {
	portstest.SafeBuffer
	tb testing.TB
}

// Write keeps a line, and looks at it. The loggers under test write here directly,
// without the last look that the binary takes.
func (s *logSink) Write(p []byte) (int, error) {
	if found := secretShape.Find(p); found != nil {
		s.tb.Errorf("the secret %s is in the log: %s", found, p)
	}
	return s.SafeBuffer.Write(p)
}

// lines parses what was logged.
func (s *logSink) lines(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(s.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, fields)
	}
	return all
}

func TestASecretInTheLogFailsTheTestThatLoggedIt(t *testing.T) {
	key := tenant.NewKeyText(tenant.Public, [tenant.KeyEntropy]byte{1}).Reveal()
	for text, leaks := range map[string]bool{
		key: true, "a " + key[:20]: true, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": true,
		"Bearer " + operatorToken: true, "sk_…": false, "tenant_01jd2vqk3mfx8s9t0v5w7y1z2a": false, key[3:]: false,
	} {
		watched := &portstest.FailedTest{TB: t}
		log := zerolog.New(&logSink{tb: watched})
		log.Info().Str("cause", text).Msg("request")
		if watched.Failed() != leaks {
			t.Errorf("%s: failed is %v", text, watched.Failed())
		}
	}
}

func TestALogLineSaysWhoAskedForWhatAndWithWhichResult(t *testing.T) {
	broken := errors.New("the disk is full")
	g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) { p.Nodes = brokenNodes{func() error { return broken }} })
	c := g.customer("Acme")
	const id, client = "mine", "192.0.2.1" // httptest calls from there
	for claim, r := range map[string]struct {
		method, path, key, body string
		want                    map[string]any
	}{
		"created": {http.MethodPost, triggersPath, c.secret, webhookBody(c), map[string]any{
			"level": "info", "method": "POST", "route": "/v1/gateway/triggers", "tenantId": string(c.id), "status": 201.0,
		}},
		"refused": {http.MethodGet, triggersPath + "/trg_1?q=" + c.secret, c.secret, "", map[string]any{
			"level": "info", "method": "GET", "route": "/v1/gateway/triggers/:id", "tenantId": string(c.id), "status": 404.0, "code": "trigger_not_found",
		}},
		"nobody known": {http.MethodGet, triggersPath, "sk_wrong", "", map[string]any{
			"level": "info", "method": "GET", "route": "/v1/gateway/triggers", "status": 401.0, "code": "unauthenticated",
		}},
		"no route": {http.MethodGet, "/nothing/" + c.secret + "?a=b", "", "", map[string]any{
			"level": "info", "method": "GET", "route": "", "path": "/nothing/sk_…", "status": 404.0, "code": "route_not_found",
		}},
		"a defect": {http.MethodGet, "/v1/gateway/custom-nodes/registry", c.public, "", map[string]any{
			"level": "error", "method": "GET", "route": "/v1/gateway/custom-nodes/registry", "tenantId": string(c.id), "status": 500.0,
			"code": "internal_error", "cause": "the disk is full",
		}},
		"a look whether it lives": {http.MethodGet, "/healthz", "", "", map[string]any{
			"level": "debug", "method": "GET", "route": "/healthz", "status": 200.0,
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			before := len(g.log.lines(t))
			answered := g.send(r.method, r.path, r.key, r.body, "X-Request-Id", id)
			lines := g.log.lines(t)[before:]
			if len(lines) != 1 {
				t.Fatalf("%d lines: %v", len(lines), lines)
			}
			got := lines[0]
			if took, ok := got["durationMs"].(float64); !ok || took <= 0 {
				t.Errorf("it took %v", got["durationMs"])
			}
			if _, known := got["keyId"].(string); known != (r.want["tenantId"] != nil) {
				t.Errorf("the key is %v", got["keyId"])
			}
			delete(got, "durationMs")
			delete(got, "keyId")
			r.want["requestId"], r.want["client"], r.want["message"], r.want["bytes"] = id, client, "request", float64(len(answered.body))
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALogLineSaysWhichRunAndTriggerTheRequestIsAbout(t *testing.T) {
	g := newHooked(t, `{"scheme":{"kind":"none"}}`)
	e := g.fixture
	trg, failed := e.ids["listening"], e.ids["failed"]
	for claim, r := range map[string]struct {
		method, path, body string
		want               [2]any // trigger and run
	}{
		"a trigger":                {http.MethodGet, triggersPath + "/" + trg, "", [2]any{trg, nil}},
		"none of that name":        {http.MethodGet, triggersPath + "/trg_1", "", [2]any{nil, nil}},
		"a run":                    {http.MethodGet, runsPath + "/" + failed, "", [2]any{nil, failed}},
		"a delivery to a hook":     {http.MethodPost, g.address, "{}", [2]any{trg, nil}},
		"a call starts a run":      {http.MethodPost, triggersPath + "/" + trg + "/webhook", `{"eventData":{}}`, [2]any{trg, "runId"}},
		"a run that is repeated":   {http.MethodPost, runsPath + "/" + failed + "/rerun", "{}", [2]any{nil, "id"}},
		"a run started by hand":    {http.MethodPost, "/v1/gateway/workflows/" + e.ids["workflows"] + "/runs", "{}", [2]any{nil, "id"}},
		"a run of a named version": {http.MethodPost, "/v1/gateway/workflow-versions/" + e.ids["activeVersion"] + "/runs", "{}", [2]any{nil, "id"}},
	} {
		t.Run(claim, func(t *testing.T) {
			answered := g.send(r.method, r.path, e.secret, r.body)
			if member, ok := r.want[1].(string); ok && !strings.HasPrefix(member, "run_") {
				if r.want[1] = answered.field(t, member); r.want[1] == nil {
					t.Fatalf("no run was started: %d %s", answered.status, answered.body)
				}
			}
			lines := g.log.lines(t)
			last := lines[len(lines)-1]
			if got := [2]any{last["triggerId"], last["runId"]}; got != r.want {
				t.Errorf("trigger and run are %v, not %v: %d %s", got, r.want, answered.status, answered.body)
			}
		})
	}
}

func TestReadinessIsLoudOnlyWhenItIsLost(t *testing.T) {
	var lost error
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Ready = func(context.Context) error { return lost } })
	g.send(http.MethodGet, "/readyz", "", "")
	lost = errors.New("the database is gone")
	g.send(http.MethodGet, "/readyz", "", "")
	var levels []any
	for _, line := range g.log.lines(t) {
		levels = append(levels, line["level"])
	}
	if diff := cmp.Diff([]any{"debug", "error"}, levels); diff != "" {
		t.Error(diff)
	}
}

func TestARequestWhoseConnectionIsCutIsStillSeen(t *testing.T) {
	seen := &watcher{}
	g := newGateway(t, func(o *httpapi.Options, p *httpapi.Ports) {
		o.Observers = []httpapi.Observer{seen}
		p.Nodes = brokenNodes{func() error { panic(http.ErrAbortHandler) }}
	})
	c := g.customer("Acme")
	func() {
		defer func() {
			if found := recover(); found != http.ErrAbortHandler { //nolint:errorlint // what is recovered is any value, and must be this one
				t.Errorf("the panic became %v", found)
			}
		}()
		r := httptest.NewRequest(http.MethodGet, "/v1/gateway/custom-nodes/registry", nil)
		r.Header.Set("X-API-Key", c.secret)
		g.api.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if got := g.log.String(); !strings.Contains(got, `"code":"connection_cut"`) {
		t.Errorf("the log says %s", got)
	}
	if len(seen.ended) != 1 || seen.ended[0].Code != "connection_cut" {
		t.Errorf("observed %+v", seen.ended)
	}
}

func TestAClientThatWentAwayIsNoErrorOfOurs(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, triggersPath, nil)
	r.Header.Set("X-API-Key", c.secret)
	g.api.ServeHTTP(httptest.NewRecorder(), r)
	lines := g.log.lines(t)
	if got := lines[len(lines)-1]; got["code"] != "client_gone" || got["status"] != 499.0 || got["level"] != "info" {
		t.Errorf("the log says %v", got)
	}
}

func TestALoggerThatIsSilentStaysSo(t *testing.T) {
	var out bytes.Buffer
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Log = zerolog.New(&out).Level(zerolog.WarnLevel) })
	g.send(http.MethodGet, "/healthz", "", "")
	g.send(http.MethodGet, "/nothing", "", "")
	if out.Len() > 0 {
		t.Errorf("logged %s", &out)
	}
}
