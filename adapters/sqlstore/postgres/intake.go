package postgres

import (
	"time"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
)

// insertTriggersSQL adds triggers whose version exists, and with a key only those whose
// key is free; it returns the identifiers of those it added. A key that another
// transaction is about to take makes it wait for that one. Its parameters are arrays
// of equal length, and the retention of outcomes in seconds.
const insertTriggersSQL = `
WITH asked AS (
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
		$9::boolean[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])
	AS a(tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
		is_active, activated_at, created_at, scope, key, fingerprint, event, answer)
	WHERE EXISTS (SELECT FROM workflow_versions v WHERE v.tenant_id = a.tenant_id AND v.id = a.workflow_version_id)
), claimed AS (
	INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
	SELECT tenant_id, scope, key, fingerprint, convert_to(answer, 'UTF8'), created_at FROM asked WHERE key <> '' ORDER BY tenant_id, scope, key
	ON CONFLICT (tenant_id, scope, key) DO UPDATE
	SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
	WHERE outcomes.created_at <= excluded.created_at - make_interval(secs => $17)
	RETURNING tenant_id, scope, key
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, created_at, 1, nullif(event, '')
FROM asked a
WHERE a.key = '' OR EXISTS (SELECT FROM claimed c WHERE c.tenant_id = a.tenant_id AND c.scope = a.scope AND c.key = a.key)
RETURNING id`

// insertTriggerSQL does the same for one trigger without a key: a request that finds
// itself alone waits a third of the time.
const insertTriggerSQL = `
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT $1, $2, $3, v.id, $5, $6, $7, $8, $9, $10, $11, $11, 1, $12
FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $4
RETURNING id`

// insertTriggerOnceSQL does the same for one trigger with a key.
const insertTriggerOnceSQL = `
WITH claimed AS (
	INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
	SELECT $1, $13, $14, $15, $16, $11 FROM workflow_versions v WHERE v.tenant_id = $1 AND v.id = $4
	ON CONFLICT (tenant_id, scope, key) DO UPDATE
	SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
	WHERE outcomes.created_at <= $17
	RETURNING key
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config,
	is_active, activated_at, created_at, updated_at, revision, event)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 1, $12 FROM claimed
RETURNING id`

// insertTrigger adds one trigger with one statement.
func insertTrigger(row sqlstore.TriggerEntry) (statement string, args []any) {
	st := row.State
	args = []any{
		string(st.Tenant), string(st.ID), string(st.SubTenant), string(st.Version), st.Name, row.SearchText, string(st.Type),
		st.Config.Document().String(), st.Active, st.ActivatedAt, st.CreatedAt, row.Event,
	}
	if row.Key == "" {
		return insertTriggerSQL, args
	}
	return insertTriggerOnceSQL, append(args, row.Scope, row.Key, row.Fingerprint, row.Answer, st.CreatedAt.Add(-domain.OnceRetention))
}

// insertTriggers adds a batch with one statement.
func insertTriggers(rows []sqlstore.TriggerEntry) (statement string, args []any) {
	if len(rows) == 1 {
		return insertTrigger(rows[0])
	}
	const texts = 14
	var columns [texts][]string
	active := make([]bool, len(rows))
	for i := range columns {
		columns[i] = make([]string, len(rows))
	}
	for i, row := range rows {
		st, event := row.State, ""
		if row.Event != nil {
			event = *row.Event
		}
		for c, text := range [texts]string{
			string(st.Tenant), string(st.ID), string(st.SubTenant), string(st.Version), st.Name, row.SearchText, string(st.Type),
			st.Config.Document().String(), st.ActivatedAt.Format(time.RFC3339Nano), st.CreatedAt.Format(time.RFC3339Nano),
			row.Scope, row.Key, row.Fingerprint, event,
		} {
			columns[c][i] = text
		}
		active[i] = st.Active
	}
	answers := make([]string, len(rows))
	for i, row := range rows {
		answers[i] = string(row.Answer)
	}
	args = make([]any, 0, texts+3)
	for c, column := range columns {
		if c == 8 {
			args = append(args, pq.BoolArray(active))
		}
		args = append(args, pq.StringArray(column))
	}
	return insertTriggersSQL, append(args, pq.StringArray(answers), domain.OnceRetention.Seconds())
}
