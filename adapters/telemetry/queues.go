package telemetry

import (
	"context"
	"fmt"
	"sync"
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
// deliveries. A name that is taken is a defect and panics.
func (m *Metrics) Queue(name string, depth Depth) {
	q := &m.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, taken := q.depths[name]; taken {
		panic(fmt.Sprintf("telemetry: there is a queue %q already", name))
	}
	q.depths[name] = depth
}

// queues reads how deep the queues are.
type queues struct {
	desc   *prometheus.Desc
	mu     *sync.RWMutex
	depths map[string]Depth
}

var _ prometheus.Collector = (*queues)(nil)

func newQueues() queues {
	return queues{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "depth"),
			"Entries that wait in a queue.", []string{"queue"}, nil),
		mu: new(sync.RWMutex), depths: make(map[string]Depth),
	}
}

// Describe lists the metric.
func (q *queues) Describe(out chan<- *prometheus.Desc) { out <- q.desc }

// Collect asks every queue.
func (q *queues) Collect(out chan<- prometheus.Metric) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for name, depth := range q.depths {
		out <- q.ask(name, depth)
	}
}

func (q *queues) ask(name string, depth Depth) prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	n, err := depth(ctx)
	if err != nil {
		return prometheus.NewInvalidMetric(q.desc, fmt.Errorf("depth of the queue %s: %w", name, err))
	}
	return prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, float64(n), name)
}
