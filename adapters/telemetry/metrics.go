package telemetry

import (
	"fmt"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// namespace begins the name of every metric that is the gateway's own.
const namespace = "sluice"

// Metrics are the measurements of one process, on a registry of their own. What counts
// as things happen is called or wrapped; what can be read at any time is connected once and
// read whenever somebody gathers. Connecting something twice is a defect and panics. The
// methods may be called from many goroutines.
//
// Names and units follow Prometheus' conventions (prometheus.io, "Metric and label
// naming"); the values of every label come from a set that no client can enlarge. Series of
// which all are known exist from the start, at 0, so that the first event is seen as an
// increase.
type Metrics struct {
	registry *prometheus.Registry
	requests *requests
	limiter  limits
	webhooks *prometheus.HistogramVec
	nodes    *prometheus.HistogramVec
	runs     *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	tenants  *tenants
}

// New returns metrics that describe this process and hold no measurement yet.
// version is the gateway's.
func New(version string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	register := promauto.With(registry)
	register.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels say which version of the gateway this is, and of Go.",
		ConstLabels: labels{"version": version, "goversion": runtime.Version()},
	}).Set(1)
	return &Metrics{
		registry: registry, requests: newRequests(register), limiter: newLimits(register),
		webhooks: newWebhooks(register), nodes: newNodes(register), runs: newRuns(register), tokens: newTokens(register), tenants: newTenants(register),
	}
}

type labels = prometheus.Labels

// gauge connects what goes up and down.
func (m *Metrics) gauge(name, help string, of labels, read func() float64) {
	promauto.With(m.registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: of}, read)
}

// counter connects a count.
func (m *Metrics) counter(name, help string, of labels, read func() float64) {
	promauto.With(m.registry).NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: of}, read)
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
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
