package telemetry

import "github.com/prometheus/client_golang/prometheus"

// MemoryPart is a part of the memory that tenants share, as it is now.
type MemoryPart struct {
	Reserved, Most int64 // bytes
	Waiting        int   // requests for more
}

// Memory connects a part of the memory that tenants share. read is called whenever somebody
// gathers. Connecting a part twice is a defect and panics.
func (m *Metrics) Memory(part string, read func() MemoryPart) {
	gauge := func(name, help string, of func(MemoryPart) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "memory", Name: name, Help: help, ConstLabels: prometheus.Labels{"part": part},
		}, func() float64 { return of(read()) })
	}
	m.registry.MustRegister(
		gauge("reserved_bytes", "Memory that is reserved for tenants, by what it is for.", func(p MemoryPart) float64 { return float64(p.Reserved) }),
		gauge("max_bytes", "Memory that can be reserved for tenants, by what it is for.", func(p MemoryPart) float64 { return float64(p.Most) }),
		gauge("waiting", "Requests for memory that wait until others give some back.", func(p MemoryPart) float64 { return float64(p.Waiting) }),
	)
}
