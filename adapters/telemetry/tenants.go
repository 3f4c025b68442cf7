package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/tenant"
)

const (
	// EveryTenant asks for series of every tenant, of the first [MaxTenants] that are
	// called.
	EveryTenant = "*"

	// MaxTenants bounds how many tenants have series of their own then. Tenants can be
	// many, and every series costs memory here and at whoever reads it.
	MaxTenants = 1000

	// OtherTenants is the label's value of the tenants that have no series of their own.
	OtherTenants = "other"
)

// What of a tenant's is called.
const (
	tenantWebhook    = "webhook"
	tenantCustomNode = "custom_node"
)

// LabelTenants names the tenants that have series of their own, or [EveryTenant]. Without
// any, as at first, nothing is counted by tenant. It is called once, before anything is
// counted.
func (m *Metrics) LabelTenants(ids ...string) {
	for _, id := range ids {
		if id == EveryTenant {
			m.tenants.unnamed, m.tenants.every = MaxTenants, true
			continue
		}
		m.tenants.asked = append(m.tenants.asked, tenant.ID(id))
		m.tenants.named[tenant.ID(id)] = m.tenants.series(id)
	}
	if len(ids) > 0 {
		m.tenants.others = m.tenants.series(OtherTenants)
	}
}

type tenantSeries struct {
	call      string
	succeeded bool
}

// tenants counts calls by tenant, for a bounded number of them.
type tenants struct {
	calls  *prometheus.CounterVec
	others map[tenantSeries]prometheus.Counter // nil while nothing is counted
	asked  []tenant.ID                         // by the operator
	every  bool

	mu      sync.RWMutex
	named   map[tenant.ID]map[tenantSeries]prometheus.Counter
	unnamed int // how many more get series of their own
}

func newTenants(register promauto.Factory) *tenants {
	return &tenants{
		calls: register.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "tenant_calls_total",
			Help: "Calls of tenants' webhook endpoints and custom nodes that came to their end, by tenant where the operator asked for it.",
		}, []string{"tenant", "call", "outcome"}),
		named: make(map[tenant.ID]map[tenantSeries]prometheus.Counter),
	}
}

// series makes the series of a tenant, at 0.
func (t *tenants) series(label string) map[tenantSeries]prometheus.Counter {
	made := make(map[tenantSeries]prometheus.Counter)
	for _, call := range []string{tenantWebhook, tenantCustomNode} {
		made[tenantSeries{call, true}] = t.calls.WithLabelValues(label, call, "succeeded")
		made[tenantSeries{call, false}] = t.calls.WithLabelValues(label, call, "failed")
	}
	return made
}

// of finds the series that a tenant is counted in.
func (t *tenants) of(owner tenant.ID) map[tenantSeries]prometheus.Counter {
	if t.others == nil {
		return nil
	}
	t.mu.RLock()
	mine, known := t.named[owner]
	left := t.unnamed
	t.mu.RUnlock()
	switch {
	case known:
		return mine
	case left == 0:
		return t.others
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine, known = t.named[owner]; known {
		return mine
	}
	if t.unnamed == 0 {
		return t.others
	}
	t.unnamed--
	t.named[owner] = t.series(string(owner))
	return t.named[owner]
}

// called counts a call of something of a tenant's that came to its end, and whether it
// succeeded.
func (t *tenants) called(owner tenant.ID, call string, succeeded bool) {
	if c, ok := t.of(owner)[tenantSeries{call, succeeded}]; ok {
		c.Inc()
	}
}
