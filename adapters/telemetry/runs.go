package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/domain/run"
)

// RunHappened counts something that happened to a run and was recorded. A type that
// does not exist is not counted.
func (m *Metrics) RunHappened(t run.EventType) {
	if c, ok := m.runs.counted[t]; ok {
		c.Inc()
	}
}

// runs counts what happens to runs. Every series exists from the start, at 0.
type runs struct {
	happened *prometheus.CounterVec
	counted  map[run.EventType]prometheus.Counter
}

// eventNames names the label's values.
var eventNames = map[run.EventType]string{
	run.RunStarted: "started", run.RunCompleted: "completed", run.RunFailed: "failed", run.RunCancelled: "cancelled",
	run.RunPaused: "paused", run.RunResumed: "resumed",
}

func newRuns() runs {
	r := runs{
		happened: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "run", Name: "changes_total",
			Help: "What happened to runs, as recorded by this process.",
		}, []string{"change"}),
		counted: make(map[run.EventType]prometheus.Counter),
	}
	for t, name := range eventNames {
		r.counted[t] = r.happened.WithLabelValues(name)
	}
	return r
}

func (r *runs) collectors() []prometheus.Collector { return []prometheus.Collector{r.happened} }
