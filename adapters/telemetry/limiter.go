package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/tenant"
)

// What the limits said to a request whose key was recognized.
const (
	granted            = "granted"
	refusedRate        = "refused_rate"        // too many in a span of time
	refusedConcurrency = "refused_concurrency" // too many at the same time
)

// limits counts what limiters do.
type limits struct {
	decisions *prometheus.CounterVec
	alone     prometheus.Counter
	fallback  prometheus.Gauge
}

func newLimits(register promauto.Factory) limits {
	l := limits{
		decisions: register.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "limiter_decisions_total", Help: "Requests with a valid key, by what the limits said.",
		}, []string{"key_type", "decision"}),
		alone: register.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "limiter_local_decisions_total",
			Help: "Requests that this process counted on its own because the shared limiter (Redis) did not answer.",
		}),
		fallback: register.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "limiter_fallback_active",
			Help: "1 from when the shared limiter (Redis) stops answering until it has answered for 10 s again, else 0.",
		}),
	}
	for _, kt := range append(tenant.KeyTypes(), tenant.Embed, tenant.Session) {
		for _, decision := range []string{granted, refusedRate, refusedConcurrency} {
			l.decisions.WithLabelValues(string(kt), decision)
		}
	}
	return l
}

// decided counts what the limits said to a request, unless its key was not recognized.
func (l limits) decided(r Request) {
	if r.KeyType == "" {
		return
	}
	decision := granted
	switch {
	case r.Code == "too_many_concurrent_requests":
		decision = refusedConcurrency
	case r.Status == http.StatusTooManyRequests:
		decision = refusedRate
	}
	l.decisions.WithLabelValues(string(r.KeyType), decision).Inc()
}

// LimiterDecidedAlone counts a decision that this process made on its own because the
// shared limiter (Redis) did not answer, or had not answered a moment before.
func (m *Metrics) LimiterDecidedAlone() { m.limiter.alone.Inc() }

// LimiterFallback says whether the shared limiter (Redis) is out: from the first call
// without an answer until it has answered for a while.
func (m *Metrics) LimiterFallback(active bool) { m.limiter.fallback.Set(oneIf(active)) }
