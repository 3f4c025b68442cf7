package postgres

import (
	"time"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
)

// insertTriggersSQL adds triggers whose version exists. Its parameters are arrays of
// equal length.
const insertTriggersSQL = `
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, created_at, created_at, created_at, 1, nullif(event, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
	$10::timestamptz[], $11::boolean[])
	AS a(tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, event, created_at, is_active)
WHERE EXISTS (SELECT FROM workflow_versions v WHERE v.tenant_id = a.tenant_id AND v.id = a.workflow_version_id)`

// insertTriggersOnceSQL does the same for triggers of which some have a key, and adds
// those whose key is free. A key that another transaction is about to take makes it wait
// for that one. Its further parameters are arrays as well, and the retention of outcomes
// in seconds.
const insertTriggersOnceSQL = `
WITH asked AS (
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
		$10::timestamptz[], $11::boolean[], $12::text[], $13::text[], $14::text[], $15::text[])
	AS a(tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, event, created_at, is_active,
		scope, key, fingerprint, answer)
	WHERE EXISTS (SELECT FROM workflow_versions v WHERE v.tenant_id = a.tenant_id AND v.id = a.workflow_version_id)
), claimed AS (
	INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
	SELECT tenant_id, scope, key, fingerprint, convert_to(answer, 'UTF8'), created_at FROM asked WHERE key <> '' ORDER BY tenant_id, scope, key
	ON CONFLICT (tenant_id, scope, key) DO UPDATE
	SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
	WHERE outcomes.created_at <= excluded.created_at - make_interval(secs => $16)
	RETURNING tenant_id, scope, key
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, created_at, created_at, created_at, 1, nullif(event, '')
FROM asked a
WHERE a.key = '' OR EXISTS (SELECT FROM claimed c WHERE c.tenant_id = a.tenant_id AND c.scope = a.scope AND c.key = a.key)`

// insertTriggerSQL does the same for one trigger without a key: a request that finds
// itself alone waits a third of the time.
const insertTriggerSQL = `
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT $1, $2, $3, v.id, $5, $6, $7, $8, $9, $10, $10, $10, 1, $11
FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $4`

// insertTriggerOnceSQL does the same for one trigger with a key.
const insertTriggerOnceSQL = `
WITH claimed AS (
	INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
	SELECT $1, $12, $13, $14, $15, $10 FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $4
	ON CONFLICT (tenant_id, scope, key) DO UPDATE
	SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
	WHERE outcomes.created_at <= $16
	RETURNING key
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10, 1, $11 FROM claimed`

// amongTriggersSQL selects those of some triggers that are there.
const amongTriggersSQL = `
SELECT t.id FROM unnest($1::text[], $2::text[]) AS a(tenant_id, id) JOIN triggers t ON t.tenant_id = a.tenant_id AND t.id = a.id`

// textOf is a column of a trigger's row.
type textOf func(*sqlstore.TriggerEntry) string

// triggerTexts are the columns of a trigger, and ofOnce those of the outcome beside it, in
// the order of the statements' parameters.
var (
	triggerTexts = []textOf{
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
	}
	onceTexts = []textOf{
		func(e *sqlstore.TriggerEntry) string { return e.Scope },
		func(e *sqlstore.TriggerEntry) string { return e.Key },
		func(e *sqlstore.TriggerEntry) string { return e.Fingerprint },
		func(e *sqlstore.TriggerEntry) string { return string(e.Answer) },
	}
)

// arrays is one array for each column.
func arrays(rows []sqlstore.TriggerEntry, columns []textOf) []any {
	all := make([]any, len(columns))
	for c, text := range columns {
		column := make(textArray, len(rows))
		for i := range rows {
			column[i] = text(&rows[i])
		}
		all[c] = column
	}
	return all
}

// insertTriggers adds a batch with one statement.
func insertTriggers(rows []sqlstore.TriggerEntry) (statement string, args []any) {
	if len(rows) == 1 {
		return insertTrigger(rows[0])
	}
	active, once := make(pq.BoolArray, len(rows)), false
	for i, row := range rows {
		active[i] = row.State.Active
		once = once || row.Key != ""
	}
	args = append(arrays(rows, triggerTexts), active)
	if !once {
		return insertTriggersSQL, args
	}
	args = append(args, arrays(rows, onceTexts)...)
	return insertTriggersOnceSQL, append(args, domain.OnceRetention.Seconds())
}

// insertTrigger adds one trigger with one statement.
func insertTrigger(row sqlstore.TriggerEntry) (statement string, args []any) {
	st := row.State
	args = []any{
		string(st.Tenant), string(st.ID), string(st.SubTenant), string(st.Version), st.Name, row.SearchText, string(st.Type),
		st.Config.Document().String(), st.Active, st.CreatedAt, row.Event,
	}
	if row.Key == "" {
		return insertTriggerSQL, args
	}
	return insertTriggerOnceSQL, append(args, row.Scope, row.Key, row.Fingerprint, row.Answer, st.CreatedAt.Add(-domain.OnceRetention))
}

// amongTriggers selects those of a batch that are there.
func amongTriggers(rows []sqlstore.TriggerEntry) (statement string, args []any) {
	return amongTriggersSQL, arrays(rows, triggerTexts[:2])
}
