package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Decision is what the limits said to a request whose key was recognized.
type Decision string

// The decisions.
const (
	Granted            Decision = "granted"
	RefusedRate        Decision = "refused_rate"        // too many in a span of time
	RefusedConcurrency Decision = "refused_concurrency" // too many at the same time
)

// Decisions lists all of them.
func Decisions() []Decision { return []Decision{Granted, RefusedRate, RefusedConcurrency} }

// LimiterDecided counts a decision about a request with a key of that type. A type or
// decision that does not exist is not counted.
func (m *Metrics) LimiterDecided(kt tenant.KeyType, d Decision) {
	if c, ok := m.limiter.decided[verdict{kt, d}]; ok {
		c.Inc()
	}
}

// LimiterFailed counts a call of the shared limiter (Redis) that got no answer.
func (m *Metrics) LimiterFailed() { m.limiter.failures.Inc() }

// LimiterFallback says whether this process counts on its own at the moment because
// the shared limiter does not answer.
func (m *Metrics) LimiterFallback(active bool) {
	value := 0.0
	if active {
		value = 1
	}
	m.limiter.fallback.Set(value)
}

type verdict struct {
	keyType  tenant.KeyType
	decision Decision
}

// limits counts what limiters do. Every series exists from the start, at 0, so that
// the first refusal is seen as an increase.
type limits struct {
	decisions *prometheus.CounterVec
	decided   map[verdict]prometheus.Counter
	failures  prometheus.Counter
	fallback  prometheus.Gauge
}

func newLimits() limits {
	l := limits{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "decisions_total",
			Help: "Requests with a valid key, by what the limits said.",
		}, []string{"key_type", "decision"}),
		decided: make(map[verdict]prometheus.Counter),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "failures_total",
			Help: "Calls of the shared limiter (Redis) that got no answer.",
		}),
		fallback: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "fallback_active",
			Help: "1 while this process counts on its own because the shared limiter (Redis) does not answer, else 0.",
		}),
	}
	for _, kt := range tenant.KeyTypes() {
		for _, d := range Decisions() {
			l.decided[verdict{kt, d}] = l.decisions.WithLabelValues(string(kt), string(d))
		}
	}
	return l
}

func (l *limits) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.decisions, l.failures, l.fallback}
}
