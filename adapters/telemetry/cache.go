package telemetry

import "github.com/prometheus/client_golang/prometheus"

// CacheFigures are the figures of the cache of credentials.
type CacheFigures struct {
	Hits, Misses uint64 // look-ups since the start that were answered from memory, and not
	Entries      int    // credentials kept now
	Trusted      bool   // false while the cache is not used because it cannot follow what changes
}

// CredentialCache connects the cache of credentials. read is called whenever
// somebody gathers. Connecting twice is a defect and panics.
func (m *Metrics) CredentialCache(read func() CacheFigures) { m.registry.MustRegister(cache{read}) }

// cache reads the cache of credentials.
type cache struct{ read func() CacheFigures }

var _ prometheus.Collector = cache{}

var (
	cacheLookups = cacheMetric("lookups_total", "Look-ups of API keys, by whether memory had the answer.", "result")
	cacheEntries = cacheMetric("entries", "Credentials that are kept in memory.")
	cacheTrusted = cacheMetric("trusted", "1 while answers are kept in memory, 0 while the database is asked each time because its changes are not heard.")
)

func cacheMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "credential_cache", name), help, labels, nil)
}

// Describe lists the metrics.
func (cache) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheLookups, cacheEntries, cacheTrusted} {
		out <- d
	}
}

// Collect reads the cache.
func (c cache) Collect(out chan<- prometheus.Metric) {
	f := c.read()
	trusted := 0.0
	if f.Trusted {
		trusted = 1
	}
	out <- prometheus.MustNewConstMetric(cacheLookups, prometheus.CounterValue, float64(f.Hits), "hit")
	out <- prometheus.MustNewConstMetric(cacheLookups, prometheus.CounterValue, float64(f.Misses), "miss")
	out <- prometheus.MustNewConstMetric(cacheEntries, prometheus.GaugeValue, float64(f.Entries))
	out <- prometheus.MustNewConstMetric(cacheTrusted, prometheus.GaugeValue, trusted)
}
