package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What a run waits for, in the column awaited: for one event, whichever it is; for a time
// only; for several events that differ.
const (
	awaitsEvent   = "="
	awaitsTime    = "-"
	awaitsSeveral = "*"
)

// isAwaiting is the condition of the indexes runs_awaiting and runs_awaiting_event.
const isAwaiting = `status IN ('paused', 'running') AND awaited IS NOT NULL`

// awaitJSON is how an element of the column awaits is kept. The time is in Unix
// milliseconds.
type awaitJSON struct {
	Event string `json:"event,omitempty"`
	Until *int64 `json:"until,omitempty"`
}

// awaitColumns are what is kept of what a run waits for; both null for nothing.
func awaitColumns(r *run.Run) (awaits, awaitedBy *string, err error) {
	all := r.Awaits()
	if len(all) == 0 {
		if r.Status() == run.StatusPaused {
			none, only := "[]", awaitsTime
			return &none, &only, nil
		}
		return nil, nil, nil
	}
	kept := make([]awaitJSON, len(all))
	key := awaitsEvent + all[0].Event
	for i, one := range all {
		kept[i].Event = one.Event
		if one.Until != nil {
			until := one.Until.UnixMilli()
			kept[i].Until = &until
		}
		if one.Event != all[0].Event || !nameable(one.Event) {
			key = awaitsSeveral
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, nil, fmt.Errorf("encode what a run waits for: %w", err)
	}
	list := string(text)
	return &list, &key, nil
}

// nameable says whether a caller can name an event, and an index hold it.
func nameable(event string) bool {
	return utf8.RuneCountInString(event) <= run.MaxEvent && utf8.ValidString(event) && !strings.ContainsRune(event, 0)
}

const awaitingColumns = `u.id, u.sub_tenant_id, u.workflow_version_id, u.snapshot_id, ` + loopColumn + ` AS loop, u.created_at, u.awaits`

// idleColumns are the same of a run of which nothing waits.
const idleColumns = `u.id, u.sub_tenant_id, u.workflow_version_id, u.snapshot_id, ` + loopColumn + ` AS loop, u.created_at, NULL AS awaits`

type awaitingRow struct {
	id, subTenant, version, loop string
	createdAt                    core.Instant
	awaits, snapshot             *string
}

func (row *awaitingRow) awaiting() (run.Awaiting, error) {
	a := run.Awaiting{
		ID: run.ID(row.id), SubTenant: tenant.SubTenantID(row.subTenant), CreatedAt: row.createdAt.Time,
		Source: run.Source{Version: workflow.VersionID(row.version), Snapshot: orNone[run.SnapshotID](row.snapshot), Loop: workflow.NodeID(row.loop)},
	}
	if row.awaits == nil {
		return a, nil
	}
	var kept []awaitJSON
	if err := json.Unmarshal([]byte(*row.awaits), &kept); err != nil {
		return a, fmt.Errorf("run %s: what it waits for: %w", row.id, err)
	}
	for _, one := range kept {
		await := run.Await{Event: one.Event}
		if one.Until != nil {
			until := time.UnixMilli(*one.Until).UTC()
			await.Until = &until
		}
		a.Awaits = append(a.Awaits, await)
	}
	return a, nil
}

// Awaiting asks for what runs wait for, of all of them or for each thing that an event can
// end: each part comes from an index in its order.
func (s repository) Awaiting(ctx context.Context, scope tenant.Scope, q outbound.AwaitingQuery) (found []run.Awaiting, err error) {
	query, args, err := s.awaiting(scope, q)
	if err != nil {
		return nil, err
	}
	err = s.EachRow(ctx, "find what runs of an entity wait for", func(rows *sql.Rows) error {
		var row awaitingRow
		if err := rows.Scan(&row.id, &row.subTenant, &row.version, &row.snapshot, &row.loop, &row.createdAt, &row.awaits); err != nil {
			return err
		}
		a, err := row.awaiting()
		found = append(found, a)
		return err
	}, query, args...)
	return found, err
}

func (s repository) awaiting(scope tenant.Scope, q outbound.AwaitingQuery) (query string, args []any, err error) {
	if len(q.Runs) > 0 {
		keys := make([]core.KeyRow, len(q.Runs))
		for i, id := range q.Runs {
			keys[i] = core.KeyRow{Tenant: string(scope.Tenant()), ID: string(id)}
		}
		table, parameter, err := s.store.dialect.Keys(keys)
		in, args := core.ByWorkflow("workflow_id").Within(scope, []any{parameter, q.Entity, q.Limit})
		columns, which := awaitingColumns, isAwaiting
		if q.Idle {
			columns, which = idleColumns, `(`+isAwaiting+`) IS NOT TRUE`
		}
		return `SELECT ` + columns + ` FROM (SELECT DISTINCT r.tenant_id AS owner_id, r.id AS run_id FROM ` + table + `) AS named
			CROSS JOIN runs u WHERE u.tenant_id = named.owner_id AND u.id = named.run_id AND u.entity_id = $2 AND ` + which + in + `
			ORDER BY u.created_at, u.id LIMIT $3`, args, err
	}
	narrowed, args := core.Within(scope, core.ByWorkflow("workflow_id"), q.Entity, q.Limit)
	if q.After != nil {
		args = append(args, q.After.CreatedAt.UTC(), string(q.After.ID))
		narrowed += fmt.Sprintf(` AND (u.created_at, u.id) > ($%d, $%d)`, len(args)-1, len(args))
	}
	if q.SubTenant != nil {
		args = append(args, string(*q.SubTenant))
		narrowed += fmt.Sprintf(` AND u.sub_tenant_id = $%d`, len(args))
	}
	if len(q.Versions) > 0 {
		versions, err := json.Marshal(wantedVersions(q.Versions))
		if err != nil {
			return "", nil, fmt.Errorf("encode versions: %w", err)
		}
		args = append(args, string(versions))
		// Without IS TRUE a planner may start with the versions instead of reading the runs of
		// one entity in their order.
		narrowed += ` AND (u.workflow_version_id IN (SELECT r.id FROM ` + s.store.dialect.Rows(len(args), core.Column{Name: "id"}) + `)) IS TRUE`
	}
	part := func(condition string) string {
		return `SELECT ` + awaitingColumns + ` FROM runs u WHERE u.tenant_id = $1 AND u.entity_id = $2 AND ` + isAwaiting + condition + narrowed + `
			ORDER BY u.created_at, u.id LIMIT $3`
	}
	if q.Event == "" {
		return part(""), args, nil
	}
	args = append(args, awaitsEvent+q.Event)
	parts := []string{part(fmt.Sprintf(` AND awaited = $%d`, len(args)))}
	for _, key := range []string{awaitsEvent, awaitsSeveral} {
		parts = append(parts, part(` AND awaited = '`+key+`'`))
	}
	return `SELECT * FROM (` + strings.Join(parts, `) AS p UNION ALL SELECT * FROM (`) + `) AS p ORDER BY created_at, id LIMIT $3`, args, nil
}

// wantedVersion is a row of [core.Dialect.Rows].
type wantedVersion struct {
	ID string `json:"id"`
}

func wantedVersions(of []workflow.VersionID) []wantedVersion {
	rows := make([]wantedVersion, len(of))
	for i, id := range of {
		rows[i].ID = string(id)
	}
	return rows
}
