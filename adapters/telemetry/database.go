package telemetry

import (
	"database/sql"

	"github.com/prometheus/client_golang/prometheus"
)

// Database connects the connection pools of the database. read returns their figures
// by name; it is called whenever somebody gathers. Connecting twice is a defect and
// panics.
func (m *Metrics) Database(read func() map[string]sql.DBStats) {
	m.registry.MustRegister(pools{read})
}

// pools reads the connection pools.
type pools struct {
	read func() map[string]sql.DBStats
}

var _ prometheus.Collector = pools{}

var (
	poolConnections = databaseMetric("connections", "Open connections to the database.", "pool", "state")
	poolMost        = databaseMetric("connections_max", "Greatest number of connections that a pool opens; 0 for no bound.", "pool")
	poolWaits       = databaseMetric("connection_waits_total", "Times that somebody waited for a connection.", "pool")
	poolWaited      = databaseMetric("connection_wait_seconds_total", "How long was waited for connections in all.", "pool")
)

func databaseMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "database", name), help, labels, nil)
}

// Describe lists the metrics.
func (pools) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolMost, poolWaits, poolWaited} {
		out <- d
	}
}

// Collect reads every pool.
func (p pools) Collect(out chan<- prometheus.Metric) {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	for name, s := range p.read() {
		out <- prometheus.MustNewConstMetric(poolConnections, gauge, float64(s.InUse), name, "in_use")
		out <- prometheus.MustNewConstMetric(poolConnections, gauge, float64(s.Idle), name, "idle")
		out <- prometheus.MustNewConstMetric(poolMost, gauge, float64(s.MaxOpenConnections), name)
		out <- prometheus.MustNewConstMetric(poolWaits, counter, float64(s.WaitCount), name)
		out <- prometheus.MustNewConstMetric(poolWaited, counter, s.WaitDuration.Seconds(), name)
	}
}
