package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpserver"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/application/hooks"
	"github.com/sluicehq/sluice/domain/hook"
	domainrun "github.com/sluicehq/sluice/domain/run"
)

// flushTimeout is how long stopping waits for the last spans to be exported.
const flushTimeout = 5 * time.Second

// observability shows the operator how the gateway is doing. Metrics are counted whether
// they are served or not; what costs something for each request is left out where they are not.
type observability struct {
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing // nil where no traces are wanted
	server  *http.Server       // nil where no metrics are
	log     zerolog.Logger
}

// newObservability sets up what the configuration asks for, and begins to serve metrics.
func newObservability(ctx context.Context, log zerolog.Logger, cfg config, store *sqlstore.Store) (*observability, error) {
	o := &observability{metrics: telemetry.New(version), log: log}
	o.metrics.LabelTenants(cfg.MetricsTenants...)
	o.metrics.Database(store.Stats)
	o.metrics.Storage(store.StoredBytes)
	o.metrics.Queues(store.Queues, system.Clock{}.Now)
	if cfg.tracesEndpoint != "" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			log.Warn().Err(err).Msg("spans were lost")
		}))
		var err error
		if o.tracing, err = telemetry.NewTracing(ctx, cfg.tracesEndpoint, version); err != nil {
			return nil, err
		}
	}
	if cfg.MetricsListen == "" {
		return o, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (SLUICE_METRICS_LISTEN): %w", cfg.MetricsListen, err)
	}
	o.serve(listener)
	return o, nil
}

// connect measures the parts of the gateway, and the memory that tenants share.
func (o *observability) connect(g gateway, m budget.Memory) {
	o.metrics.CredentialCache(func() telemetry.CacheFigures {
		s := g.Directory.Stats()
		return telemetry.CacheFigures{Hits: s.Hits, Misses: s.Misses, Entries: s.Credentials, Trusted: s.Reliable}
	})
	o.metrics.Panics("scheduler", g.Scheduler.Panics)
	o.metrics.Panics("jobs", g.JobWorker.Panics)
	o.metrics.Panics("worker", g.Worker.Panics)
	if g.engine != nil {
		o.metrics.HandOversFailed(g.engine.Failed)
	}
	o.metrics.Panics("webhooks", g.Dispatcher.Panics)
	o.metrics.Panics("audit", g.Sealer.Panics)
	o.metrics.OldestAuditEntry(g.Sealer.OldestUnsealed)
	for _, reason := range domainrun.SkipReasons() {
		o.metrics.TriggersSkipped(reason, func() int64 { return g.Selections.Counted(reason) })
	}
	o.metrics.UnreadableDeliveries(g.Dispatcher.Unreadable)
	for _, verdict := range hook.Verdicts() {
		if verdict != hook.RefusedSender {
			o.metrics.HookDeliveries(string(verdict), func() int64 { return g.Hooks.Became(verdict) })
		}
	}
	for _, reason := range hooks.Reasons() {
		o.metrics.HookRefusals(reason, func() int64 { return g.Hooks.Refused(reason) })
	}
	o.metrics.OldestHookDelivery(g.Hooks.Oldest)
	for part, b := range m.Parts() {
		o.metrics.Memory(part, func() telemetry.MemoryPart {
			return telemetry.MemoryPart{Reserved: b.Used(), Most: b.Whole(), Waiting: b.Waiting()}
		})
	}
}

// serve serves metrics and profiles until close.
func (o *observability) serve(listener net.Listener) {
	o.server = httpserver.NewDiagnostics(o.log, o.metrics.Handler(o.log))
	o.log.Info().Str("metricsUrl", "http://"+reachable(listener.Addr().String())+httpserver.MetricsPath).Msg("metrics are served")
	go func() {
		if err := o.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.log.Error().Err(err).Msg("metrics are not served any more")
		}
	}()
}

// observers are those of the API's requests. The trace is the outermost.
func (o *observability) observers() []httpapi.Observer {
	var all []httpapi.Observer
	if o.tracing != nil {
		all = append(all, requestSpans{o.tracing})
	}
	if o.server != nil {
		all = append(all, requestMetrics{o.metrics})
	}
	return all
}

// close exports the last spans and stops serving metrics.
func (o *observability) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := o.tracing.Shutdown(ctx); err != nil {
		o.log.Warn().Err(err).Msg("spans were lost")
	}
	if o.server != nil {
		_ = o.server.Close() // Prometheus asks again
	}
}

// requestMetrics counts the API's requests.
type requestMetrics struct{ metrics *telemetry.Metrics }

var _ httpapi.Observer = requestMetrics{}

// Begin counts a request that is being handled.
func (m requestMetrics) Begin(r *http.Request, _ string) context.Context {
	m.metrics.RequestBegan()
	return r.Context()
}

// End counts an answered request.
func (m requestMetrics) End(_ context.Context, o httpapi.Observation) {
	m.metrics.RequestEnded(answered(o))
}

func answered(o httpapi.Observation) telemetry.Request {
	return telemetry.Request{
		Method: o.Method, Route: o.Route, Status: o.Status, Took: o.Took,
		RequestID: o.RequestID, Tenant: o.Tenant, KeyType: o.KeyType, Code: o.Code,
	}
}

// requestSpans traces the API's requests.
type requestSpans struct{ tracing *telemetry.Tracing }

var _ httpapi.Observer = requestSpans{}

// Begin starts a request's span.
func (s requestSpans) Begin(r *http.Request, route string) context.Context {
	return s.tracing.RequestBegan(r.Context(), r.Header, r.Method, route)
}

// End ends it.
func (s requestSpans) End(ctx context.Context, o httpapi.Observation) {
	s.tracing.RequestEnded(ctx, answered(o))
}
