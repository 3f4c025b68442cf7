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
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/ports/inbound"
)

// metricsPath is where Prometheus looks.
const metricsPath = "/metrics"

// Bounds of the operator's listener. A profile may be asked for over a minute.
const (
	operatorHeaderTimeout = 10 * time.Second
	operatorAnswerTimeout = 3 * time.Minute
	operatorIdleTimeout   = 2 * time.Minute
)

// flushTimeout is how long stopping waits for the last spans to be exported.
const flushTimeout = 5 * time.Second

// watching shows the operator how the gateway is doing. What is connected to metrics
// is measured whether somebody listens or not; what costs something on the way of a
// request is left out where nobody does.
type watching struct {
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing // nil where no traces are wanted
	server  *http.Server       // nil where no metrics are
	log     zerolog.Logger
}

// newWatching sets up what the configuration asks for, and begins to serve metrics.
func newWatching(ctx context.Context, log zerolog.Logger, cfg config, store *sqlstore.Store) (*watching, error) {
	w := &watching{metrics: telemetry.New(version), log: log}
	w.metrics.LabelTenants(cfg.MetricsTenants...)
	w.metrics.Database(store.Stats)
	w.metrics.Storage(store.KeptBytes)
	w.metrics.Queue("webhook_events", store.WaitingEvents)
	w.metrics.Queue("webhook_deliveries", func(ctx context.Context) (int, error) { return store.DueDeliveries(ctx, system.Clock{}.Now()) })
	w.metrics.Queue("runs", func(ctx context.Context) (int, error) { return store.DueRuns(ctx, system.Clock{}.Now()) })
	if cfg.tracesEndpoint != "" {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			log.Warn().Err(err).Msg("spans were lost")
		}))
		var err error
		if w.tracing, err = telemetry.NewTracing(ctx, cfg.tracesEndpoint, version); err != nil {
			return nil, err
		}
	}
	if cfg.MetricsListen == "" {
		return w, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (SLUICE_METRICS_LISTEN): %w", cfg.MetricsListen, err)
	}
	w.serve(listener)
	return w, nil
}

// gateway connects what is inside.
func (w *watching) gateway(g gateway, m budget.Memory) {
	w.directory(g.Directory)
	w.memory(m)
	w.loops(g.Scheduler, g.Worker, g.Dispatcher)
}

// directory connects what is kept in memory of keys.
func (w *watching) directory(d *directory.Directory) {
	w.metrics.CredentialCache(func() telemetry.CacheFigures {
		s := d.Stats()
		return telemetry.CacheFigures{Hits: s.Hits, Misses: s.Misses, Entries: s.Credentials, Trusted: s.Trusted}
	})
}

// loops connects what goes on beside requests.
func (w *watching) loops(scheduler inbound.Scheduler, worker inbound.Worker, dispatcher inbound.Dispatcher) {
	w.metrics.Panics("scheduler", scheduler.Panics)
	w.metrics.Panics("worker", worker.Panics)
	w.metrics.Panics("webhooks", dispatcher.Panics)
	w.metrics.UnreadableDeliveries(dispatcher.Unreadable)
}

// memory connects the memory that tenants share.
func (w *watching) memory(m budget.Memory) {
	for part, b := range m.Parts() {
		w.metrics.Memory(part, func() telemetry.MemoryPart {
			return telemetry.MemoryPart{Reserved: b.Used(), Most: b.Whole(), Waiting: b.Waiting()}
		})
	}
}

// serve serves metrics and profiles until close.
func (w *watching) serve(listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, w.metrics.Handler(w.log))
	mux.Handle(profilesPath, profiles())
	w.server = &http.Server{
		Handler:           mux,
		ErrorLog:          standardLog(w.log),
		ReadHeaderTimeout: operatorHeaderTimeout,
		ReadTimeout:       operatorHeaderTimeout,
		WriteTimeout:      operatorAnswerTimeout,
		IdleTimeout:       operatorIdleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	w.log.Info().Str("metricsUrl", "http://"+reachable(listener.Addr().String())+metricsPath).Msg("metrics are served")
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.log.Error().Err(err).Msg("metrics are not served any more")
		}
	}()
}

// observers are what follows the requests of the API. The trace is the outermost, so
// that every other one is within it.
func (w *watching) observers() []httpapi.Observer {
	var all []httpapi.Observer
	if w.tracing != nil {
		all = append(all, requestSpans{w.tracing})
	}
	if w.server != nil {
		all = append(all, requestMetrics{w.metrics})
	}
	return all
}

// close exports the last spans and ends serving metrics, which are there to the last.
func (w *watching) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := w.tracing.Shutdown(ctx); err != nil {
		w.log.Warn().Err(err).Msg("spans were lost")
	}
	if w.server != nil {
		_ = w.server.Close() // who reads metrics asks again
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

// End counts an answered request, and what the limits said to it.
func (m requestMetrics) End(_ context.Context, o httpapi.Observation) {
	m.metrics.RequestEnded(telemetry.Request{Method: o.Method, Route: o.Route, Status: o.Status, Took: o.Took})
	m.metrics.LimiterDecided(o.KeyType, decisionOn(o)) // which leaves out a key that was not recognized
}

// decisionOn reads off an answer what the limits said.
func decisionOn(o httpapi.Observation) telemetry.Decision {
	switch {
	case o.Code == "too_many_concurrent_requests":
		return telemetry.RefusedConcurrency
	case o.Status == http.StatusTooManyRequests:
		return telemetry.RefusedRate
	default:
		return telemetry.Granted
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
	s.tracing.RequestEnded(ctx, telemetry.TracedRequest{
		Method: o.Method, Route: o.Route, Status: o.Status, RequestID: o.RequestID, Tenant: o.Tenant, Code: o.Code,
	})
}
