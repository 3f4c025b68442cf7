package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluicehq/sluice/domain/tenant"
)

// storageInterval is how long what was read is shown: whoever gathers more often does not
// have the database add up more often.
const storageInterval = 15 * time.Second

// KeptBytes says how many bytes of runs are kept for each tenant.
type KeptBytes func(context.Context) (map[tenant.ID]int64, error)

// Storage connects what is kept for tenants. It is read when somebody gathers, at most
// every 15 seconds; on an error it is left out of what is gathered. The tenants that
// LabelTenants names have series of their own; for [EveryTenant] those have one who keep
// most, at most [MaxTenants].
func (m *Metrics) Storage(read KeptBytes) {
	m.registry.MustRegister(&storage{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "tenant", "storage_bytes"),
			"Bytes of runs that are kept for tenants, by tenant where the operator asked for it.", []string{"tenant"}, nil),
		read: read, tenants: m.tenants,
	})
}

// storage reads what is kept.
type storage struct {
	desc    *prometheus.Desc
	read    KeptBytes
	tenants *tenants

	mu    sync.Mutex
	kept  map[tenant.ID]int64
	until time.Time // when it is read again
}

var _ prometheus.Collector = (*storage)(nil)

// Describe lists the metric.
func (s *storage) Describe(out chan<- *prometheus.Desc) { out <- s.desc }

// Collect reads what is kept, unless it just was.
func (s *storage) Collect(out chan<- prometheus.Metric) {
	kept, err := s.current()
	if err != nil {
		out <- prometheus.NewInvalidMetric(s.desc, fmt.Errorf("storage of tenants: %w", err))
		return
	}
	shown := s.tenants.chosen(kept)
	others := int64(0)
	for id, bytes := range kept {
		if !shown[id] {
			others += bytes
		}
	}
	for id := range shown {
		out <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(kept[id]), string(id))
	}
	out <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(others), OtherTenants)
}

func (s *storage) current() (map[tenant.ID]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.kept, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
	defer cancel()
	kept, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.kept, s.until = kept, time.Now().Add(storageInterval)
	return kept, nil
}

// chosen are the tenants with series of their own: those that are named, or those that
// keep most.
func (t *tenants) chosen(kept map[tenant.ID]int64) map[tenant.ID]bool {
	shown := make(map[tenant.ID]bool)
	for _, id := range t.asked {
		shown[id] = true
	}
	if !t.every {
		return shown
	}
	most := slices.SortedFunc(maps.Keys(kept), func(a, b tenant.ID) int { return cmp.Or(cmp.Compare(kept[b], kept[a]), cmp.Compare(a, b)) })
	for _, id := range most[:min(len(most), MaxTenants)] {
		shown[id] = true
	}
	return shown
}
