package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/tenant"
)

// discarded is an answer that nobody reads.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// counted connects the metrics as the binary does.
type counted struct{ metrics *telemetry.Metrics }

func (m counted) Begin(r *http.Request, _ string) context.Context {
	m.metrics.RequestBegan()
	return r.Context()
}

func (m counted) End(_ context.Context, o httpapi.Observation) {
	m.metrics.RequestEnded(telemetry.Request{Method: o.Method, Route: o.Route, Status: o.Status, Took: o.Took, KeyType: o.KeyType})
}

// BenchmarkMiddleware measures what every request pays before and after its handler:
// identifier, log line, metrics, recovery. It runs both handlers in turn, so that a
// busy machine slows both, and shows what is added to the bare one, and their ratio.
func BenchmarkMiddleware(b *testing.B) {
	const path = "/v1/gateway/workflows/:id"
	who := tenant.Caller{Scope: tenant.All("tenant_01jd2vqk3mfx8s9t0v5w7y1z2a"), Key: "key_01jd2vqk3mfx8s9t0v5w7y1z2a", KeyType: tenant.Secret}
	log := zerolog.New(telemetry.Redact(io.Discard)).With().Timestamp().Logger()
	quiet, counting := httpapi.Options{NewID: system.Random{}.ID, Log: zerolog.Nop()}, httpapi.Options{NewID: system.Random{}.ID, Log: log}
	counting.Observers = []httpapi.Observer{counted{telemetry.New("bench")}}
	logging := counting
	logging.Observers = nil
	for name, opts := range map[string]httpapi.Options{"no log, no metrics": quiet, "log": logging, "log and metrics": counting} {
		b.Run(name, func(b *testing.B) {
			whole, bare := httpapi.Behind(opts, http.MethodGet, path, who, []byte(`{"id":"wf_01jd2vqk3mfx8s9t0v5w7y1z2a"}`))
			var took [2]time.Duration
			r := httptest.NewRequest(http.MethodGet, "/v1/gateway/workflows/wf_01jd2vqk3mfx8s9t0v5w7y1z2a", nil)
			b.ReportAllocs()
			for b.Loop() {
				for i, h := range []http.Handler{whole, bare} {
					start := time.Now()
					h.ServeHTTP(discarded{make(http.Header, 8)}, r)
					took[i] += time.Since(start)
				}
			}
			n := float64(b.N)
			b.ReportMetric(float64(took[1])/n, "bare-ns/op")
			b.ReportMetric(float64(took[0]-took[1])/n, "added-ns/op")
			b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
		})
	}
}
