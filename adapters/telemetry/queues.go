package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/domain/process"
)

// gatherTimeout bounds how long it may take to look at the queues.
const gatherTimeout = 2 * time.Second

// Queues connects the queues of all tenants, which are looked at whenever somebody gathers, with a
// context that ends after two seconds. On an error they are left out of what is gathered.
func (m *Metrics) Queues(read func(ctx context.Context, now time.Time) ([]process.Queue, error), now func() time.Time) {
	m.registry.MustRegister(queues{read, now})
}

// queues collects how many entries wait in each queue, and since when.
type queues struct {
	read func(context.Context, time.Time) ([]process.Queue, error)
	now  func() time.Time
}

var _ prometheus.Collector = queues{}

var (
	queueDepth = prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "depth"), "Entries that wait in a queue.", []string{"queue"}, nil)
	queueAge   = prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "oldest_waiting_seconds"), "How long the oldest entry of a queue has waited.", []string{"queue"}, nil)
)

// Describe lists the metrics.
func (q queues) Describe(out chan<- *prometheus.Desc) {
	out <- queueDepth
	out <- queueAge
}

// Collect looks at the queues.
func (q queues) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	now := q.now()
	found, err := q.read(ctx, now)
	if err != nil {
		out <- prometheus.NewInvalidMetric(queueDepth, fmt.Errorf("look at the queues: %w", err))
		return
	}
	for _, one := range found {
		var age float64
		if one.Since != nil {
			age = max(0, now.Sub(*one.Since).Seconds()) // clocks differ
		}
		out <- prometheus.MustNewConstMetric(queueDepth, prometheus.GaugeValue, float64(one.Waiting), string(one.Name))
		out <- prometheus.MustNewConstMetric(queueAge, prometheus.GaugeValue, age, string(one.Name))
	}
}
