package telemetry

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How sending a webhook once ended.
const (
	attemptDelivered = "delivered" // the endpoint answered 2xx
	attemptRejected  = "rejected"  // it answered something else
	attemptTimeout   = "timeout"   // it gave no answer in time
	attemptBlocked   = "blocked"   // its address may not be called
	attemptFailed    = "failed"    // there was no answer for any other reason
	attemptAborted   = "aborted"   // the attempt did not come to an end here, and is made again
)

// attemptBuckets reach to the time within which an endpoint has to answer, and a little
// beyond it. In seconds.
var attemptBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 16}

func newWebhooks(register promauto.Factory) *prometheus.HistogramVec {
	durations := register.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "webhook_attempt_duration_seconds",
		Help: "How long attempts to deliver a webhook took, by how they ended.", Buckets: attemptBuckets,
	}, []string{"outcome"})
	for _, outcome := range []string{attemptDelivered, attemptRejected, attemptTimeout, attemptBlocked, attemptFailed, attemptAborted} {
		durations.WithLabelValues(outcome)
	}
	return durations
}

// Sender returns a sender that does what the given one does, and counts how each attempt
// ends.
func (m *Metrics) Sender(sender outbound.Sender) outbound.Sender { return countedSender{sender, m} }

type countedSender struct {
	sender  outbound.Sender
	metrics *Metrics
}

// Send counts how it ends.
func (s countedSender) Send(ctx context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
	began := time.Now()
	o, err := s.sender.Send(ctx, m)
	if err != nil {
		s.metrics.webhooks.WithLabelValues(attemptAborted).Observe(time.Since(began).Seconds())
		return o, err
	}
	s.metrics.webhooks.WithLabelValues(attemptOutcome(o)).Observe(o.Duration.Seconds())
	s.metrics.tenants.called(m.Tenant, tenantWebhook, o.Succeeded())
	return o, nil
}

func attemptOutcome(o event.AttemptResult) string {
	switch {
	case o.Succeeded():
		return attemptDelivered
	case o.Status != 0:
		return attemptRejected
	case o.Code == "timeout":
		return attemptTimeout
	case strings.HasSuffix(o.Code, "_refused"):
		return attemptBlocked
	default:
		return attemptFailed
	}
}
