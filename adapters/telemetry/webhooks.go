package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// AttemptOutcome says how sending a webhook once ended.
type AttemptOutcome string

// The outcomes of an attempt.
const (
	AttemptDelivered AttemptOutcome = "delivered" // the endpoint answered 2xx
	AttemptRejected  AttemptOutcome = "rejected"  // it answered something else
	AttemptTimeout   AttemptOutcome = "timeout"   // it gave no answer in time
	AttemptBlocked   AttemptOutcome = "blocked"   // its address may not be called
	AttemptFailed    AttemptOutcome = "failed"    // there was no answer for any other reason
	AttemptAborted   AttemptOutcome = "aborted"   // the attempt did not come to an end here, and is made again
)

// AttemptOutcomes lists all of them.
func AttemptOutcomes() []AttemptOutcome {
	return []AttemptOutcome{AttemptDelivered, AttemptRejected, AttemptTimeout, AttemptBlocked, AttemptFailed, AttemptAborted}
}

// WebhookAttempted counts an attempt to deliver a webhook, and how long it took. An
// outcome that does not exist is not counted.
func (m *Metrics) WebhookAttempted(o AttemptOutcome, took time.Duration) {
	if observer, ok := m.webhooks.took[o]; ok {
		observer.Observe(took.Seconds())
	}
}

// webhooks measures attempts. Every series exists from the start, at 0.
type webhooks struct {
	durations *prometheus.HistogramVec
	took      map[AttemptOutcome]prometheus.Observer
}

// attemptBuckets reach to the time within which an endpoint has to answer, and a little
// beyond it. In seconds.
var attemptBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 16}

func newWebhooks() webhooks {
	w := webhooks{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: "webhook", Name: "attempt_duration_seconds",
			Help: "How long attempts to deliver a webhook took, by how they ended.", Buckets: attemptBuckets,
		}, []string{"outcome"}),
		took: make(map[AttemptOutcome]prometheus.Observer),
	}
	for _, o := range AttemptOutcomes() {
		w.took[o] = w.durations.WithLabelValues(string(o))
	}
	return w
}

func (w *webhooks) collectors() []prometheus.Collector { return []prometheus.Collector{w.durations} }
