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
	if c, ok := m.limiter.decided[limiterSeries{kt, d}]; ok {
		c.Inc()
	}
}

// LimiterDecidedAlone counts a decision that this process made on its own because the
// shared limiter (Redis) did not answer, or had not answered a moment before.
func (m *Metrics) LimiterDecidedAlone() { m.limiter.alone.Inc() }

// LimiterFallback says whether the shared limiter (Redis) is out: from the first call
// without an answer until it has answered for a while.
func (m *Metrics) LimiterFallback(active bool) {
	value := 0.0
	if active {
		value = 1
	}
	m.limiter.fallback.Set(value)
}

type limiterSeries struct {
	keyType  tenant.KeyType
	decision Decision
}

// limits counts what limiters do. Every series exists from the start, at 0, so that
// the first refusal is seen as an increase.
type limits struct {
	decisions *prometheus.CounterVec
	decided   map[limiterSeries]prometheus.Counter
	alone     prometheus.Counter
	fallback  prometheus.Gauge
}

func newLimits() limits {
	l := limits{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "decisions_total",
			Help: "Requests with a valid key, by what the limits said.",
		}, []string{"key_type", "decision"}),
		decided: make(map[limiterSeries]prometheus.Counter),
		alone: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "local_decisions_total",
			Help: "Requests that this process counted on its own because the shared limiter (Redis) did not answer.",
		}),
		fallback: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "limiter", Name: "fallback_active",
			Help: "1 from when the shared limiter (Redis) stops answering until it has answered for 10 s again, else 0.",
		}),
	}
	for _, kt := range tenant.KeyTypes() {
		for _, d := range Decisions() {
			l.decided[limiterSeries{kt, d}] = l.decisions.WithLabelValues(string(kt), string(d))
		}
	}
	return l
}

func (l *limits) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.decisions, l.alone, l.fallback}
}
