package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/portstest"
)

// secretShape fits API keys and the secrets of webhook endpoints, cut in half ones too.
var secretShape = regexp.MustCompile(`[ps]k_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=_-]{16,}`)

// holdsNoSecret fails a test whose program wrote a secret to standard error, or was
// about to: that the last look found one means that something let it pass before.
// Every program that a test of this package runs is held to it.
func holdsNoSecret(t testing.TB, stderr string) {
	t.Helper()
	if found := secretShape.FindString(stderr); found != "" {
		t.Errorf("the secret %s is in the log: %s", found, stderr)
	}
	if strings.Contains(stderr, telemetry.Redacted) {
		t.Errorf("a secret was kept out of the log at the last moment only: %s", stderr)
	}
}

func TestASecretInTheLogFailsATest(t *testing.T) {
	key := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{1}).Reveal()
	for text, leaks := range map[string]bool{
		key: true, "x " + key[:20]: true, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": true, "sk_" + telemetry.Redacted: true,
		"sk_…": false, "tenant_01jd2vqk3mfx8s9t0v5w7y1z2a": false,
	} {
		watched := &portstest.FailedTest{TB: t}
		holdsNoSecret(watched, text)
		if watched.Failed() != leaks {
			t.Errorf("%s: failed is %v", text, watched.Failed())
		}
	}
}

func TestTheLogHidesSecretsInEveryFormat(t *testing.T) {
	key := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{1}).Reveal()
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log, flush := newLogger(&out, config{LogFormat: format})
		log.Info().Msg("before")
		log.Info().Str("cause", key).Msg("with " + key)
		flush()
		if got := out.String(); strings.Count(got, "sk_"+telemetry.Redacted) != 2 || strings.Contains(got, key[3:]) {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// get reads an address.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestMetricsAreServedToTheOperatorAndToNobodyElse(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		b.environ = append(b.environ, "SLUICE_METRICS_LISTEN=127.0.0.1:0")
		s := b.start("serve")
		address, ok := s.stderr.await(`"metricsUrl":"(http://[^"]+)/metrics"`)
		if !ok {
			t.Fatalf("the address is not told: %s", s.stderr)
		}
		made := b.json("tenant", "create", "--name", "Acme")
		b.ok("tenant", "update", fmt.Sprint(made["tenantId"]), "--public-per-minute", "2")
		for range 3 {
			s.request(t, http.MethodGet, "/v1/gateway/triggers", fmt.Sprint(made["publicKey"]), "")
		}
		s.request(t, http.MethodGet, "/v1/gateway/triggers/trg_1", fmt.Sprint(made["secretKey"]), "")
		s.request(t, http.MethodGet, "/v1/gateway/triggers", "wrong", "")

		status, metrics := get(t, address+"/metrics")
		if status != http.StatusOK {
			t.Fatalf("got %d: %s", status, metrics)
		}
		for _, sample := range []string{
			`sluice_http_requests_total{method="GET",route="/v1/gateway/triggers",status="200"} 2`,
			`sluice_http_requests_total{method="GET",route="/v1/gateway/triggers",status="429"} 1`,
			`sluice_http_requests_total{method="GET",route="/v1/gateway/triggers",status="401"} 1`,
			`sluice_http_requests_total{method="GET",route="/v1/gateway/triggers/:id",status="404"} 1`,
			`sluice_http_request_duration_seconds_count{method="GET",route="/v1/gateway/triggers"} 4`,
			`sluice_http_requests_in_flight 0`,
			`sluice_queue_oldest_waiting_seconds{queue="runs"} 0`,
			`sluice_queue_oldest_waiting_seconds{queue="webhook_deliveries"} 0`,
			`sluice_limiter_decisions_total{decision="granted",key_type="public"} 2`,
			`sluice_limiter_decisions_total{decision="refused_rate",key_type="public"} 1`,
			`sluice_limiter_decisions_total{decision="granted",key_type="secret"} 1`,
			`version="` + version + `"} 1`,
		} {
			if !strings.Contains(metrics, sample+"\n") {
				t.Errorf("%s is missing", sample)
			}
		}
		if !regexp.MustCompile(`(?m)^sluice_database_connections_max\{pool="(shared|writer)"\} [1-9]`).MatchString(metrics) {
			t.Error("the pools of the database are not measured")
		}
		if !regexp.MustCompile(`(?m)^sluice_credential_cache_lookups_total\{result="miss"\} [1-9]`).MatchString(metrics) {
			t.Error("the cache of credentials is not measured")
		}
		if strings.Contains(metrics, fmt.Sprint(made["tenantId"])) {
			t.Error("a tenant is a label")
		}
		if status, body := get(t, address+"/debug/pprof/goroutine?debug=1"); status != http.StatusOK || !strings.Contains(body, "goroutine profile") {
			t.Errorf("a profile: %d", status)
		}
		for _, elsewhere := range []string{address + "/", address + "/v1/gateway/triggers", address + "/healthz", s.url + "/metrics", s.url + "/debug/pprof/"} {
			if status, _ := get(t, elsewhere); status != http.StatusNotFound {
				t.Errorf("%s got %d", elsewhere, status)
			}
		}
		if code := s.stop(); code != exitDone {
			t.Errorf("stopped with %d: %s", code, s.stderr)
		}
		if c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://")); err == nil {
			_ = c.Close()
			t.Error("metrics are still served")
		}
	})
}

func TestMetricsAreNotServedUnlessAskedFor(t *testing.T) {
	s := newBinary(t, sqliteURL(t)).start("serve")
	s.stop()
	if strings.Contains(s.stderr.String(), "metrics") {
		t.Errorf("the log says %s", s.stderr)
	}
}

func TestAnAddressForMetricsThatIsTakenStopsTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_METRICS_LISTEN="+taken.Addr().String())
	if code, _, stderr := b.run("serve"); code != exitFailed || !strings.Contains(stderr, "SLUICE_METRICS_LISTEN") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// collector receives the traces of a gateway.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	exported bytes.Buffer // a protocol buffer holds texts as they are
	paths    []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, r.URL.Path)
		if _, err := io.Copy(&c.exported, r.Body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// environ has a gateway send its traces here.
func (c *collector) environ() string { return "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL + "/otlp" }

// askWithCookie makes a request of a browser, which nobody is signed in with.
func (s server) askWithCookie(t *testing.T, path, cookie string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", cookie)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // nobody reads it
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s got %d", path, answer.StatusCode)
	}
}

func TestARequestAndItsUnitsOfWorkAreTraced(t *testing.T) {
	c := newCollector(t)
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, c.environ())
	s := b.start("serve")
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	status, _ := s.request(t, http.MethodPost, "/v1/gateway/workflows?q=hidden", fmt.Sprint(made["secretKey"]), `{"name":"Private name"}`)
	if status != http.StatusCreated {
		t.Fatalf("the request got %d", status)
	}
	trigger := `{"workflowVersionId":"` + fmt.Sprint(made["workflowVersionId"]) + `","name":"Paid","type":"webhook","config":{}}`
	if status, body := s.request(t, http.MethodPost, "/v1/gateway/triggers", fmt.Sprint(made["secretKey"]), trigger); status != http.StatusCreated {
		t.Fatalf("the trigger got %d: %s", status, body)
	}
	const inPath, inCookie = "dGVuYW50X3NlY3JldC1vZi1hLXBhZ2U", "c2VjcmV0LW9mLWEtc2Vzc2lvbi1vZi1zb21lYm9keQ"
	for _, path := range []string{"/a/" + inPath, "/a/" + inPath + "/further", "/console/l/" + inPath, "/console/api/links/" + inPath, "/console/api/links/" + inPath + "/further"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, body := s.request(t, method, path, "", ""); status >= http.StatusInternalServerError {
				t.Errorf("%s %s got %d: %s", method, path, status, body)
			}
		}
	}
	s.askWithCookie(t, "/console/api/t/tenant_1/runs", "sluice_session="+inCookie)
	if code := s.stop(); code != exitDone {
		t.Errorf("stopped with %d: %s", code, s.stderr)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, want := range []string{"POST /v1/gateway/workflows", "GET /a/:token", "GET /console/api/t/:tenantId/runs", "unit of work", "insert triggers", "http.route", fmt.Sprint(made["tenantId"]), "service.name"} {
		if !bytes.Contains(c.exported.Bytes(), []byte(want)) {
			t.Errorf("%q was not exported", want)
		}
	}
	for _, hidden := range []string{fmt.Sprint(made["secretKey"])[3:], "Private name", "hidden", inPath, inCookie} {
		if bytes.Contains(c.exported.Bytes(), []byte(hidden)) {
			t.Errorf("%q was exported", hidden)
		}
		if strings.Contains(s.stderr.String(), hidden) {
			t.Errorf("the log has %q: %s", hidden, s.stderr)
		}
	}
	for _, path := range c.paths {
		if path != "/otlp/v1/traces" {
			t.Errorf("sent to %s", path)
		}
	}
	if !regexp.MustCompile(`"route":"/v1/gateway/workflows".*"traceId":"[0-9a-f]{32}"`).MatchString(s.stderr.String()) {
		t.Errorf("the log does not name the trace: %s", s.stderr)
	}
}

func TestWhereNobodyListensNothingFollowsTheRequests(t *testing.T) {
	w := &observability{metrics: telemetry.New("test"), log: zerolog.Nop()}
	if all := w.observers(); len(all) != 0 {
		t.Errorf("%d observers", len(all))
	}
	w.close()
}
