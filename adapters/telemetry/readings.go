package telemetry

import (
	"database/sql"
	"time"
)

// CacheFigures are the figures of the cache of credentials.
type CacheFigures struct {
	Hits, Misses uint64 // look-ups since the start that were answered from memory, and not
	Entries      int    // credentials kept now
	Trusted      bool   // false while the cache is not used because it cannot follow what changes
}

// CredentialCache connects the cache of credentials.
func (m *Metrics) CredentialCache(read func() CacheFigures) {
	const lookups = "Look-ups of API keys, by whether memory had the answer."
	m.counter("credential_cache_lookups_total", lookups, labels{"result": "hit"}, func() float64 { return float64(read().Hits) })
	m.counter("credential_cache_lookups_total", lookups, labels{"result": "miss"}, func() float64 { return float64(read().Misses) })
	m.gauge("credential_cache_entries", "Credentials that are kept in memory.", nil, func() float64 { return float64(read().Entries) })
	m.gauge("credential_cache_trusted", "1 while answers are kept in memory, 0 while the database is asked each time because its changes are not heard.",
		nil, func() float64 { return oneIf(read().Trusted) })
}

// Database connects the connection pools of the database. read returns their figures
// by name; the names stay the same.
func (m *Metrics) Database(read func() map[string]sql.DBStats) {
	const open = "Open connections to the database."
	for name := range read() {
		pool := labels{"pool": name}
		m.gauge("database_connections", open, labels{"pool": name, "state": "in_use"}, func() float64 { return float64(read()[name].InUse) })
		m.gauge("database_connections", open, labels{"pool": name, "state": "idle"}, func() float64 { return float64(read()[name].Idle) })
		m.gauge("database_connections_max", "Greatest number of connections that a pool opens; 0 for no bound.", pool,
			func() float64 { return float64(read()[name].MaxOpenConnections) })
		m.counter("database_connection_waits_total", "Times that somebody waited for a connection.", pool,
			func() float64 { return float64(read()[name].WaitCount) })
		m.counter("database_connection_wait_seconds_total", "How long was waited for connections in all.", pool,
			func() float64 { return read()[name].WaitDuration.Seconds() })
	}
}

// MemoryPart is a part of the memory that tenants share, as it is now.
type MemoryPart struct {
	Reserved, Most int64 // bytes
	Waiting        int   // requests for more
}

// Memory connects a part of the memory that tenants share.
func (m *Metrics) Memory(part string, read func() MemoryPart) {
	of := labels{"part": part}
	m.gauge("memory_reserved_bytes", "Memory that is reserved for tenants, by what it is for.", of, func() float64 { return float64(read().Reserved) })
	m.gauge("memory_max_bytes", "Memory that can be reserved for tenants, by what it is for.", of, func() float64 { return float64(read().Most) })
	m.gauge("memory_waiting", "Requests for memory that wait until others give some back.", of, func() float64 { return float64(read().Waiting) })
}

// Panics connects a count of the panics that a part of the gateway contained.
func (m *Metrics) Panics(part string, read func() int64) {
	m.counter("panics_total", "Panics that were contained, by the part of the gateway; each is in the log with its stack.",
		labels{"part": part}, func() float64 { return float64(read()) })
}

// HandOversFailed connects a count of how often Temporal did not take a run.
func (m *Metrics) HandOversFailed(read func() int64) {
	m.counter("temporal_handovers_failed_total", "Runs that could not be handed over to Temporal when they were due; each is tried again.", nil, func() float64 { return float64(read()) })
}

// TriggersSkipped connects a count of how often triggers started no run for a reason of
// [run.SkipReasons].
func (m *Metrics) TriggersSkipped(reason string, read func() int64) {
	m.counter("triggers_skipped_total", "Calls, events and instants for which a trigger that could fire started no run, by reason.",
		labels{"reason": reason}, func() float64 { return float64(read()) })
}

// HookDeliveries connects a count of the deliveries to hooks that came to a verdict.
func (m *Metrics) HookDeliveries(verdict string, read func() int64) {
	m.counter("hook_deliveries_total", "Deliveries to hooks that were verified, by what became of them.", labels{"verdict": verdict}, func() float64 { return float64(read()) })
}

// HookRefusals connects a count of the deliveries to hooks that were refused for a reason.
func (m *Metrics) HookRefusals(reason string, read func() int64) {
	m.counter("hook_refused_total", "Deliveries to hooks that were refused, by reason.", labels{"reason": reason}, func() float64 { return float64(read()) })
}

// OldestHookDelivery connects how long the oldest delivery has waited for its answer.
func (m *Metrics) OldestHookDelivery(read func() time.Duration) {
	m.gauge("hook_oldest_waiting_seconds", "How long the oldest delivery to a hook has waited for its answer.", nil, func() float64 { return read().Seconds() })
}

// OldestAuditEntry connects how long the oldest entry of the audit log has waited to be sealed.
func (m *Metrics) OldestAuditEntry(read func() time.Duration) {
	m.gauge("audit_oldest_unsealed_seconds", "How long the oldest entry of the audit log has waited to be sealed, as this process last saw it.", nil, func() float64 { return read().Seconds() })
}

// UnreadableDeliveries connects a count of how often deliveries were put off because they
// cannot be read.
func (m *Metrics) UnreadableDeliveries(read func() int64) {
	m.counter("webhook_deliveries_unreadable_total",
		"Times that a webhook delivery was put off because it, its endpoint or its event cannot be read; the log names them.",
		nil, func() float64 { return float64(read()) })
}
