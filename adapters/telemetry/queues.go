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
	m.registry.MustRegister(queue{name, depth,
		prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "depth"), "Entries that wait in a queue.", nil, labels{"queue": name})})
}

// queue reads how deep a queue is.
type queue struct {
	name  string
	depth Depth
	desc  *prometheus.Desc
}

var _ prometheus.Collector = queue{}

// Describe lists the metric.
func (q queue) Describe(out chan<- *prometheus.Desc) { out <- q.desc }

// Collect asks the queue.
func (q queue) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	n, err := q.depth(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(q.desc, fmt.Errorf("depth of the queue %s: %w", q.name, err))
		return
	}
	out <- prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, float64(n))
}
