package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gatherTimeout bounds how long one queue may take to say how deep it is.
const gatherTimeout = 2 * time.Second

// Depth says how many entries of a queue are waiting now. It is called whenever
// somebody gathers, with a context that ends after two seconds; on an error the queue
// is left out of what is gathered.
type Depth func(context.Context) (int, error)

// Queue connects a queue under a name of its own in lower_snake, such as runs or
// deliveries.
func (m *Metrics) Queue(name string, depth Depth) {
	m.registry.MustRegister(queue{"depth of the queue " + name, func(ctx context.Context) (float64, error) {
		n, err := depth(ctx)
		return float64(n), err
	}, prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "depth"), "Entries that wait in a queue.", nil, labels{"queue": name})})
}

// Oldest says since when the entry of a queue has waited that has for the longest time; nil when
// none waits. It is called as a [Depth] is.
type Oldest func(context.Context) (since *time.Time, err error)

// OldestInQueue connects how long the oldest entry of a queue has waited at the time that now gives.
func (m *Metrics) OldestInQueue(name string, oldest Oldest, now func() time.Time) {
	m.registry.MustRegister(queue{"age of the queue " + name, func(ctx context.Context) (float64, error) {
		since, err := oldest(ctx)
		if err != nil || since == nil {
			return 0, err
		}
		return max(0, now().Sub(*since).Seconds()), nil // clocks differ
	}, prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "oldest_waiting_seconds"), "How long the oldest entry of a queue has waited.", nil, labels{"queue": name})})
}

// queue reads a figure of a queue.
type queue struct {
	what string
	read func(context.Context) (float64, error)
	desc *prometheus.Desc
}

var _ prometheus.Collector = queue{}

// Describe lists the metric.
func (q queue) Describe(out chan<- *prometheus.Desc) { out <- q.desc }

// Collect asks the queue.
func (q queue) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	n, err := q.read(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(q.desc, fmt.Errorf("%s: %w", q.what, err))
		return
	}
	out <- prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, n)
}
