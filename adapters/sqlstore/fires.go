package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

type fires struct{ *unit }

var _ outbound.FireRepository = fires{}

// fireColumns are the columns of a fire.
var fireColumns = fireColumnsOf("")

// fireColumnsOf are those of a table that the query calls so, with a dot.
func fireColumnsOf(table string) string {
	return core.ColumnsOf(table, "tenant_id", "trigger_id", "scheduled_at", "outcome", "reason", "run_id", "recorded_at")
}

const triggerOfFire = `EXISTS (SELECT 1 FROM triggers p WHERE p.tenant_id = trigger_fires.tenant_id AND p.id = trigger_fires.trigger_id
	AND `

// byTrigger is what holds for the fires of a narrow scope.
var byTrigger = core.ScopeCondition{
	SubTenant: triggerOfFire + `p.sub_tenant_id = %[1]s)`, Workflow: triggerOfFire + core.ByVersion("p", "workflow_version_id").Workflow + `)`,
}

type fireRow struct {
	Tenant      string    `db:"tenant_id"`
	Trigger     string    `db:"trigger_id"`
	ScheduledAt time.Time `db:"scheduled_at"`
	Outcome     string    `db:"outcome"`
	Reason      string    `db:"reason"`
	RunID       string    `db:"run_id"`
	RecordedAt  time.Time `db:"recorded_at"`
}

// Targets are where the columns of a list go.
func (row *fireRow) Targets() []any {
	return []any{
		&row.Tenant, &row.Trigger, &row.ScheduledAt, &row.Outcome, &row.Reason, &row.RunID, &row.RecordedAt,
	}
}

// Size is the length of its texts.
func (row *fireRow) Size() int { return len(row.Reason) }

// SizeSQL is the same, of the columns.
func (*fireRow) SizeSQL() string { return `octet_length(reason)` }

func (row fireRow) restore() (*trigger.Fire, error) {
	return trigger.RestoreFire(trigger.FireState{
		Trigger: trigger.ID(row.Trigger), Tenant: tenant.ID(row.Tenant), At: row.ScheduledAt.UTC(), Outcome: trigger.FireOutcome(row.Outcome),
		Reason: row.Reason, RunID: row.RunID, RecordedAt: row.RecordedAt.UTC(),
	}), nil
}

// newFireRow is a row of [core.Dialect.Rows].
type newFireRow struct {
	Tenant      string `json:"tenant_id"`
	Trigger     string `json:"trigger_id"`
	ScheduledAt string `json:"scheduled_at"`
	Outcome     string `json:"outcome"`
	Reason      string `json:"reason"`
	RunID       string `json:"run_id"`
	RecordedAt  string `json:"recorded_at"`
}

// rows is the table expression over fires, and the parameter that holds them.
func (s fires) rows(all []*trigger.Fire) (table, parameter string, err error) {
	rows := make([]newFireRow, len(all))
	for i, f := range all {
		st := f.State()
		rows[i] = newFireRow{
			Tenant: string(st.Tenant), Trigger: string(st.Trigger), ScheduledAt: st.At.UTC().Format(core.TimeFormat), Outcome: string(st.Outcome),
			Reason: st.Reason, RunID: st.RunID, RecordedAt: st.RecordedAt.UTC().Format(core.TimeFormat),
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return "", "", s.Fail(fmt.Errorf("encode fires: %w", err))
	}
	return s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "trigger_id"}, core.Column{Name: "scheduled_at", Time: true},
		core.Column{Name: "outcome"}, core.Column{Name: "reason"}, core.Column{Name: "run_id"}, core.Column{Name: "recorded_at", Time: true}), string(text), nil
}

// instant identifies a fire.
type instant struct {
	tenant  tenant.ID
	trigger trigger.ID
	at      int64
}

// Record adds fires, all in one statement. What the ledger holds already stays.
func (s fires) Record(ctx context.Context, all []*trigger.Fire) ([]*trigger.Fire, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if err := s.FirstFailure(); err != nil {
		return nil, err
	}
	table, parameter, err := s.rows(all)
	if err != nil {
		return nil, err
	}
	var rows []fireRow
	err = s.ReadRows(ctx, "record fires", &rows, `INSERT INTO trigger_fires (`+fireColumns+`)
		SELECT `+fireColumnsOf("r.")+` FROM `+table+` WHERE true
		ON CONFLICT (tenant_id, trigger_id, scheduled_at) DO NOTHING RETURNING `+fireColumns, parameter)
	if err != nil {
		return nil, s.Fail(err)
	}
	if len(rows) == len(all) {
		return all, nil
	}
	inserted := make(map[instant]bool, len(rows))
	for _, row := range rows {
		inserted[instant{tenant.ID(row.Tenant), trigger.ID(row.Trigger), row.ScheduledAt.UnixNano()}] = true
	}
	var added []*trigger.Fire
	for _, f := range all {
		if key := (instant{f.Tenant(), f.Trigger(), f.At().UnixNano()}); inserted[key] {
			added = append(added, f)
			delete(inserted, key) // given twice, it was added once
		}
	}
	return added, nil
}

// Amend changes what became of fires, all in one statement.
func (s fires) Amend(ctx context.Context, all []*trigger.Fire) error {
	if len(all) == 0 {
		return nil
	}
	table, parameter, err := s.rows(all)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "amend fires", `UPDATE trigger_fires AS f SET outcome = r.outcome, reason = r.reason, run_id = r.run_id FROM `+table+`
		WHERE f.tenant_id = r.tenant_id AND f.trigger_id = r.trigger_id AND f.scheduled_at = r.scheduled_at`, parameter)
	return err
}

// firesSorted holds the only order there is, which is also the one by default.
var firesSorted = map[string]string{"scheduledAt": "scheduled_at", domain.DefaultSortField: "scheduled_at"}

// List reads a page of a trigger's fires.
func (s fires) List(ctx context.Context, scope tenant.Scope, of trigger.ID, f trigger.FireFilter, q domain.Query) (domain.Page[*trigger.Fire], error) {
	l := core.NewList("trigger_fires", fireColumns, scope, byTrigger, firesSorted)
	l.Tie = "scheduled_at" // the trigger has one fire an instant
	l.Equal("trigger_id", string(of))
	if f.Outcome != "" {
		l.Equal("outcome", string(f.Outcome))
	}
	if f.From != nil {
		l.Where = append(l.Where, "scheduled_at >= "+l.Arg(f.From.UTC()))
	}
	if f.To != nil {
		l.Where = append(l.Where, "scheduled_at < "+l.Arg(f.To.UTC()))
	}
	return core.ReadPage(ctx, s.Unit, l, q, fireRow.restore)
}

// Sweep removes old fires.
func (s fires) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep fires", `DELETE FROM trigger_fires WHERE (tenant_id, trigger_id, scheduled_at) IN (
			SELECT tenant_id, trigger_id, scheduled_at FROM trigger_fires WHERE recorded_at < $1 ORDER BY recorded_at LIMIT $2)`, before, limit)
	return int(n), err
}
