package telemetry_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/adapters/telemetry/telemetrytest"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestEveryMetricKeepsToPrometheusConventions(t *testing.T) {
	found, err := testutil.GatherAndLint(telemetrytest.Connected().Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		// The library's own collectors are not ours to name.
		if strings.HasPrefix(p.Metric, "sluice_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// shown reads the samples of the gateway's own families with these prefixes, without
// the buckets of histograms, as Prometheus would.
func shown(t *testing.T, m *telemetry.Metrics, prefixes ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(zerolog.Nop()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("got %d: %s", w.Code, w.Body)
	}
	var samples []string
	for line := range strings.Lines(w.Body.String()) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) }) && !strings.Contains(line, "_bucket{") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return samples
}

func TestRequestsAreCountedByRouteAndNotByWhatClientsMakeUp(t *testing.T) {
	m := telemetry.New("test")
	for _, r := range []telemetry.Request{
		{Method: "GET", Route: "/workflows/:id", Status: 200, Took: 250 * time.Millisecond},
		{Method: "GET", Route: "/workflows/:id", Status: 200, Took: 750 * time.Millisecond},
		{Method: "GET", Route: "/workflows/:id", Status: 404, Took: time.Second},
		{Method: "GET", Status: 404},
		{Method: "BREW", Status: 405},
		{Method: "BREW2", Status: 405},
	} {
		m.RequestBegan()
		m.RequestEnded(r)
	}
	m.RequestBegan()
	want := []string{
		`sluice_http_request_duration_seconds_sum{method="GET",route="/workflows/:id"} 2`,
		`sluice_http_request_duration_seconds_count{method="GET",route="/workflows/:id"} 3`,
		`sluice_http_request_duration_seconds_sum{method="GET",route="unmatched"} 0`,
		`sluice_http_request_duration_seconds_count{method="GET",route="unmatched"} 1`,
		`sluice_http_request_duration_seconds_sum{method="other",route="unmatched"} 0`,
		`sluice_http_request_duration_seconds_count{method="other",route="unmatched"} 2`,
		`sluice_http_requests_in_flight 1`,
		`sluice_http_requests_total{method="GET",route="/workflows/:id",status="200"} 2`,
		`sluice_http_requests_total{method="GET",route="/workflows/:id",status="404"} 1`,
		`sluice_http_requests_total{method="GET",route="unmatched",status="404"} 1`,
		`sluice_http_requests_total{method="other",route="unmatched",status="405"} 2`,
	}
	if diff := cmp.Diff(want, shown(t, m, "sluice_http_")); diff != "" {
		t.Error(diff)
	}
}

func TestNoRequestIsLostWhenManyEndAtTheSameTime(t *testing.T) {
	m := telemetry.New("test")
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for status := range 100 {
				m.RequestBegan()
				m.RequestEnded(telemetry.Request{Method: "GET", Route: "/", Status: 200 + status%10})
			}
		})
	}
	done.Wait()
	want := []string{`sluice_http_request_duration_seconds_sum{method="GET",route="/"} 0`,
		`sluice_http_request_duration_seconds_count{method="GET",route="/"} 800`, `sluice_http_requests_in_flight 0`}
	for status := range 10 {
		want = append(want, `sluice_http_requests_total{method="GET",route="/",status="20`+string(rune('0'+status))+`"} 80`)
	}
	if diff := cmp.Diff(want, shown(t, m, "sluice_http_")); diff != "" {
		t.Error(diff)
	}
}

func TestCountingARequestAllocatesNothing(t *testing.T) {
	m := telemetry.New("test")
	r := telemetry.Request{Method: "GET", Route: "/v1/gateway/workflows/:id", Status: 200, Took: time.Millisecond, KeyType: tenant.Public}
	if n := testing.AllocsPerRun(100, func() {
		m.RequestBegan()
		m.RequestEnded(r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTheLimitersDecisionsStartAtZeroAndAreCounted(t *testing.T) {
	m := telemetry.New("test")
	for _, r := range []telemetry.Request{
		{KeyType: tenant.Public, Status: http.StatusOK},
		{KeyType: tenant.Secret, Status: http.StatusTooManyRequests, Code: "rate_limited"},
		{KeyType: tenant.Secret, Status: http.StatusTooManyRequests, Code: "rate_limited"},
		{KeyType: tenant.Secret, Status: http.StatusTooManyRequests, Code: "too_many_concurrent_requests"},
		{Status: http.StatusUnauthorized},
	} {
		m.RequestEnded(r)
	}
	m.LimiterDecidedAlone()
	m.LimiterFallback(true)
	want := []string{
		`sluice_limiter_decisions_total{decision="granted",key_type="embed"} 0`,
		`sluice_limiter_decisions_total{decision="granted",key_type="public"} 1`,
		`sluice_limiter_decisions_total{decision="granted",key_type="secret"} 0`,
		`sluice_limiter_decisions_total{decision="granted",key_type="session"} 0`,
		`sluice_limiter_decisions_total{decision="refused_concurrency",key_type="embed"} 0`,
		`sluice_limiter_decisions_total{decision="refused_concurrency",key_type="public"} 0`,
		`sluice_limiter_decisions_total{decision="refused_concurrency",key_type="secret"} 1`,
		`sluice_limiter_decisions_total{decision="refused_concurrency",key_type="session"} 0`,
		`sluice_limiter_decisions_total{decision="refused_rate",key_type="embed"} 0`,
		`sluice_limiter_decisions_total{decision="refused_rate",key_type="public"} 0`,
		`sluice_limiter_decisions_total{decision="refused_rate",key_type="secret"} 2`,
		`sluice_limiter_decisions_total{decision="refused_rate",key_type="session"} 0`,
		`sluice_limiter_fallback_active 1`,
		`sluice_limiter_local_decisions_total 1`,
	}
	if diff := cmp.Diff(want, shown(t, m, "sluice_limiter_")); diff != "" {
		t.Error(diff)
	}
	m.LimiterFallback(false)
	if got := shown(t, m, "sluice_limiter_fallback"); !slices.Equal(got, []string{"sluice_limiter_fallback_active 0"}) {
		t.Errorf("afterwards %v", got)
	}
}

func TestWhatIsConnectedIsReadWhenSomebodyGathers(t *testing.T) {
	m := telemetry.New("1.2.3")
	figures := telemetry.CacheFigures{Hits: 5, Misses: 2, Entries: 3, Trusted: true}
	m.CredentialCache(func() telemetry.CacheFigures { return figures })
	m.Database(func() map[string]sql.DBStats {
		return map[string]sql.DBStats{"reader": {MaxOpenConnections: 4, InUse: 2, Idle: 1, WaitCount: 7, WaitDuration: 1500 * time.Millisecond}}
	})
	depth := 12
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := new(noon.Add(-90500 * time.Millisecond))
	m.Queues(func(context.Context, time.Time) ([]process.Queue, error) {
		return []process.Queue{{Name: process.RunQueue, Waiting: depth, Since: since}}, nil
	}, func() time.Time { return noon })
	want := []string{
		`sluice_build_info{goversion="GO",version="1.2.3"} 1`,
		`sluice_credential_cache_entries 3`,
		`sluice_credential_cache_lookups_total{result="hit"} 5`,
		`sluice_credential_cache_lookups_total{result="miss"} 2`,
		`sluice_credential_cache_trusted 1`,
		`sluice_database_connection_wait_seconds_total{pool="reader"} 1.5`,
		`sluice_database_connection_waits_total{pool="reader"} 7`,
		`sluice_database_connections{pool="reader",state="idle"} 1`,
		`sluice_database_connections{pool="reader",state="in_use"} 2`,
		`sluice_database_connections_max{pool="reader"} 4`,
		`sluice_queue_depth{queue="runs"} 12`,
		`sluice_queue_oldest_waiting_seconds{queue="runs"} 90.5`,
	}
	got := shown(t, m, "sluice_build", "sluice_credential", "sluice_database", "sluice_queue")
	got[0] = regexp.MustCompile(`goversion="go[^"]+"`).ReplaceAllString(got[0], `goversion="GO"`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	figures.Trusted, depth = false, 0
	for _, since = range []*time.Time{nil, new(noon.Add(time.Second))} { // a clock that is ahead
		got := shown(t, m, "sluice_queue", "sluice_credential_cache_trusted")
		if !slices.Equal(got, []string{"sluice_credential_cache_trusted 0", `sluice_queue_depth{queue="runs"} 0`, `sluice_queue_oldest_waiting_seconds{queue="runs"} 0`}) {
			t.Errorf("afterwards %v", got)
		}
	}
}

func TestQueuesThatCannotBeReadAreLeftOutAndLogged(t *testing.T) {
	m := telemetry.New("test")
	m.Queues(func(ctx context.Context, _ time.Time) ([]process.Queue, error) {
		if end, isBounded := ctx.Deadline(); !isBounded || time.Until(end) > 2*time.Second {
			return nil, errors.New("nothing bounds the wait")
		}
		return nil, errors.New("the database is gone")
	}, time.Now)
	var log bytes.Buffer
	w := httptest.NewRecorder()
	m.Handler(zerolog.New(&log)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, _ := io.ReadAll(w.Body) // a buffer does not fail
	if w.Code != http.StatusOK || strings.Contains(string(body), `sluice_queue`) || !strings.Contains(string(body), "sluice_build_info") {
		t.Errorf("got %d: %s", w.Code, body)
	}
	if !strings.Contains(log.String(), "the database is gone") {
		t.Errorf("logged %s", log.String())
	}
}

func TestConnectingTwiceIsADefect(t *testing.T) {
	m := telemetrytest.Connected()
	for claim, connect := range map[string]func(){
		"the queues": func() {
			m.Queues(func(context.Context, time.Time) ([]process.Queue, error) { return nil, nil }, time.Now)
		},
		"the cache": func() { m.CredentialCache(func() telemetry.CacheFigures { return telemetry.CacheFigures{} }) },
		"the pools": func() { m.Database(func() map[string]sql.DBStats { return map[string]sql.DBStats{"writer": {}} }) },
	} {
		t.Run(claim, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("nobody noticed")
				}
			}()
			connect()
		})
	}
}

func TestTheProcessAndTheRuntimeAreMeasured(t *testing.T) {
	families := telemetrytest.Families(t)
	for _, name := range []string{"go_goroutines", "go_gc_duration_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}
