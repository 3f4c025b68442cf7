package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Panics connects a count of the panics that a part of the gateway contained. read is
// called whenever somebody gathers. Connecting a part twice is a defect and panics.
func (m *Metrics) Panics(part string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "panics_total", Help: "Panics that were contained, by the part of the gateway; each is in the log with its stack.",
		ConstLabels: prometheus.Labels{"part": part},
	}, func() float64 { return float64(read()) }))
}

// TriggersSkipped connects a count of how often triggers started no run for a reason of
// [run.SkipReasons]. read is called whenever somebody gathers. Connecting a reason twice is a
// defect and panics.
func (m *Metrics) TriggersSkipped(reason string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "triggers_skipped_total", Help: "Calls, events and instants for which a trigger that could fire started no run, by reason.",
		ConstLabels: prometheus.Labels{"reason": reason},
	}, func() float64 { return float64(read()) }))
}

// UnreadableDeliveries connects a count of how often deliveries were put off because they
// cannot be read. read is called whenever somebody gathers. Connecting it twice is a
// defect and panics.
func (m *Metrics) UnreadableDeliveries(read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: "webhook_deliveries_unreadable_total",
		Help: "Times that a webhook delivery was put off because it, its endpoint or its event cannot be read; the log names them.",
	}, func() float64 { return float64(read()) }))
}
