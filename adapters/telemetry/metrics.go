package telemetry

import (
	"fmt"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// namespace begins the name of every metric that is the gateway's own.
const namespace = "sluice"

// Metrics are the measurements of one process, on a registry of their own. Its
// methods are hooks: what counts calls them as things happen, what can be read at
// any time is connected once and read whenever somebody gathers. They may be called
// from many goroutines.
//
// Names and units follow Prometheus' conventions (prometheus.io, "Metric and label
// naming"); the values of every label come from a set that no client can enlarge.
type Metrics struct {
	registry *prometheus.Registry
	requests requests
	limiter  limits
	queues   queues
	webhooks webhooks
	nodes    nodes
	runs     runs
	tenants  tenants
}

// New returns metrics that describe this process and hold no measurement yet.
// version is the gateway's.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), requests: newRequests(), limiter: newLimits(), queues: newQueues(),
		webhooks: newWebhooks(), nodes: newNodes(), runs: newRuns(), tenants: newTenants(),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels say which version of the gateway this is, and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.requests.collectors()...)
	m.registry.MustRegister(m.limiter.collectors()...)
	m.registry.MustRegister(&m.queues)
	m.registry.MustRegister(m.webhooks.collectors()...)
	m.registry.MustRegister(m.nodes.collectors()...)
	m.registry.MustRegister(m.runs.collectors()...)
	m.registry.MustRegister(m.tenants.collectors()...)
	return m
}

// Gatherer reads all measurements as they are now.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves the measurements in the formats that Prometheus reads. A source
// that cannot be read is logged and left out, and the others are still served.
func (m *Metrics) Handler(log zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: scrapeErrors{log}, ErrorHandling: promhttp.ContinueOnError, Registry: m.registry,
	})
}

// scrapeErrors writes what goes wrong while gathering into the log.
type scrapeErrors struct{ log zerolog.Logger }

var _ promhttp.Logger = scrapeErrors{}

// Println logs one problem.
func (s scrapeErrors) Println(parts ...any) {
	s.log.Warn().Str("cause", fmt.Sprint(parts...)).Msg("some metrics could not be gathered")
}
