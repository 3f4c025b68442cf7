package postgres

import (
	_ "embed"
	"time"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
)

//go:embed triggers_insert.sql
var insertTriggersSQL string

// addedTriggersSQL selects those of some triggers that are there.
const addedTriggersSQL = `
SELECT t.id FROM unnest($1::text[], $2::text[]) AS a(tenant_id, id) JOIN triggers t ON t.tenant_id = a.tenant_id AND t.id = a.id`

// entryColumns are the texts of an entry, in the order of the statement's parameters.
var entryColumns = []func(*sqlstore.TriggerEntry) string{
	func(e *sqlstore.TriggerEntry) string { return string(e.State.Tenant) },
	func(e *sqlstore.TriggerEntry) string { return string(e.State.ID) },
	func(e *sqlstore.TriggerEntry) string { return string(e.State.SubTenant) },
	func(e *sqlstore.TriggerEntry) string { return string(e.State.Version) },
	func(e *sqlstore.TriggerEntry) string { return e.State.Name },
	func(e *sqlstore.TriggerEntry) string { return e.SearchText },
	func(e *sqlstore.TriggerEntry) string { return string(e.State.Type) },
	func(e *sqlstore.TriggerEntry) string { return e.State.Config.Document().String() },
	func(e *sqlstore.TriggerEntry) string {
		if e.Event == nil {
			return ""
		}
		return *e.Event
	},
	func(e *sqlstore.TriggerEntry) string { return e.State.CreatedAt.Format(time.RFC3339Nano) },
	func(e *sqlstore.TriggerEntry) string { return e.Scope },
	func(e *sqlstore.TriggerEntry) string { return e.Key },
	func(e *sqlstore.TriggerEntry) string { return e.Fingerprint },
	func(e *sqlstore.TriggerEntry) string { return e.State.Metadata.String() },
	audited(func(e *audit.Entry) string { return string(e.ID) }),
	audited(func(e *audit.Entry) string { return string(e.ActorKind) }),
	audited(func(e *audit.Entry) string { return e.ActorID }),
	audited(func(e *audit.Entry) string { return e.Action }),
	audited(func(e *audit.Entry) string { return e.Target.Kind }),
	audited(func(e *audit.Entry) string { return e.RequestID }),
	func(e *sqlstore.TriggerEntry) string { return e.Said },
}

// audited is a text of the audit log's entry; empty where there is none.
func audited(text func(*audit.Entry) string) func(*sqlstore.TriggerEntry) string {
	return func(e *sqlstore.TriggerEntry) string {
		if e.Audit == nil {
			return ""
		}
		return text(e.Audit)
	}
}

// arrays is one array for each of the first columns.
func arrays(entries []sqlstore.TriggerEntry, columns int) []any {
	all := make([]any, columns)
	for c := range all {
		column := make(textArray, len(entries))
		for i := range entries {
			column[i] = entryColumns[c](&entries[i])
		}
		all[c] = column
	}
	return all
}

// insertTriggers adds a batch with one statement.
func insertTriggers(entries []sqlstore.TriggerEntry) (statement string, args []any) {
	answers, digests, active := make(pq.ByteaArray, len(entries)), make(pq.ByteaArray, len(entries)), make(pq.BoolArray, len(entries))
	for i, e := range entries {
		answers[i], digests[i], active[i] = e.Answer, e.Digest, e.State.Active
	}
	return insertTriggersSQL, append(arrays(entries, len(entryColumns)), answers, digests, active, domain.IdempotencyRetention.Seconds())
}

// addedTriggers selects those of a batch that are there.
func addedTriggers(entries []sqlstore.TriggerEntry) (statement string, args []any) {
	return addedTriggersSQL, arrays(entries, 2)
}
