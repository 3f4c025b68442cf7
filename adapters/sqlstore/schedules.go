package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/ports/outbound"
)

// schedules is kept in step with what can fire by the schema's own triggers (migration
// 00008), so that no way of changing a trigger, version, workflow or tenant can forget to.
type schedules struct{ *unit }

var _ outbound.ScheduleRepository = schedules{}

// triggerColumnsOfT are the columns of a trigger in a query that calls the table t.
var triggerColumnsOfT = triggerColumnsOf("t.")

// poolPart is which part of the connections units that deal with a backlog of schedules may take.
const poolPart = 4

// ParallelSchedules is how many units deal with a backlog of schedules at the same time.
func (s *Store) ParallelSchedules() int {
	most := s.dialect.ParallelSchedules
	for _, pool := range s.Stats() {
		most = min(most, pool.MaxOpenConnections/poolPart)
	}
	return max(1, most)
}

// dueScheduleRow is a schedule that was claimed, with its trigger.
type dueScheduleRow struct {
	triggerRow
	DealtWith time.Time `db:"dealt_with"`
}

func (row dueScheduleRow) key() core.KeyRow { return core.KeyRow{Tenant: row.Tenant, ID: row.ID} }

// claim reads the triggers of the schedules (tenant_id, trigger_id, dealt_with, next_at)
// that a SELECT makes the unit's own.
func (s schedules) claim(ctx context.Context, with, due string, args ...any) (rows []dueScheduleRow, err error) {
	err = s.ReadRows(ctx, "claim due schedules", &rows, `WITH `+with+`due AS MATERIALIZED (`+due+`)
		SELECT `+triggerColumnsOfT+`, due.dealt_with FROM due JOIN triggers t ON t.tenant_id = due.tenant_id AND t.id = due.trigger_id
		ORDER BY due.next_at, due.tenant_id, due.trigger_id`+s.store.dialect.KeepRows, args...)
	return rows, err
}

const dueColumns = `s.tenant_id, s.trigger_id, s.dealt_with, s.next_at`

// Due claims the schedules that have to be looked at, with their triggers. Where no more
// are due than may be claimed, which is the usual case, there is nothing to share: that
// is one statement. Else see [schedules.byTurns]. The order leaves no other index to choose.
func (s schedules) Due(ctx context.Context, now time.Time, limit int) ([]outbound.DueSchedule, error) {
	if limit <= 0 {
		return nil, nil
	}
	dueNow := ` FROM trigger_schedules s WHERE s.next_at <= $1` + core.HasLevel("s", s.Level())
	rows, err := s.claim(ctx, `not_crowded AS MATERIALIZED (SELECT count(*) <= $2 AS so FROM (SELECT 1`+dueNow+` ORDER BY s.next_at LIMIT $2 + 1) AS first), `,
		`SELECT `+dueColumns+dueNow+` AND (SELECT so FROM not_crowded) ORDER BY s.next_at LIMIT $2`+s.store.dialect.ClaimRows, now, limit)
	if err == nil && len(rows) == 0 {
		rows, err = s.byTurns(ctx, now, limit)
	}
	return dueSchedules(rows), err
}

func dueSchedules(rows []dueScheduleRow) []outbound.DueSchedule {
	due := make([]outbound.DueSchedule, len(rows))
	for i, row := range rows {
		due[i] = outbound.DueSchedule{Trigger: row.restore(), ProcessedUntil: row.DealtWith.UTC()}
	}
	return due
}

// DueOf claims given schedules.
func (s schedules) DueOf(ctx context.Context, now time.Time, of []outbound.TriggerKey) ([]outbound.DueSchedule, error) {
	if len(of) == 0 {
		return nil, nil
	}
	keys := make([]core.KeyRow, len(of))
	places := make(map[core.KeyRow]int, len(of))
	for i, key := range of {
		keys[i] = core.KeyRow{Tenant: string(key.Scope.Tenant()), ID: string(key.Trigger)}
		places[keys[i]] = i
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, s.Fail(err)
	}
	held := ""
	if s.store.dialect.ForUpdate != "" {
		held = s.store.dialect.ForUpdate + " OF s SKIP LOCKED"
	}
	rows, err := s.claim(ctx, "", `SELECT `+dueColumns+` FROM `+table+` CROSS JOIN trigger_schedules s
		WHERE s.tenant_id = r.tenant_id AND s.trigger_id = r.id AND s.next_at <= $2`+core.HasLevel("s", s.Level())+held, parameter, now)
	slices.SortFunc(rows, func(a, b dueScheduleRow) int { return places[a.key()] - places[b.key()] })
	return dueSchedules(rows), err
}

// scheduleProgressRow is a row of [core.Dialect.Rows].
type scheduleProgressRow struct {
	Tenant    string  `json:"tenant_id"`
	Trigger   string  `json:"trigger_id"`
	DealtWith string  `json:"dealt_with"`
	Next      *string `json:"next_at"`
}

// Advance moves schedules on, all in one statement.
func (s schedules) Advance(ctx context.Context, looked []outbound.ScheduleProgress) error {
	if len(looked) == 0 {
		return nil
	}
	rows := make([]scheduleProgressRow, len(looked))
	for i, l := range looked {
		rows[i] = scheduleProgressRow{Tenant: string(l.Tenant), Trigger: string(l.Trigger), DealtWith: l.ProcessedUntil.UTC().Format(core.TimeFormat)}
		if !l.Next.IsZero() {
			next := l.Next.UTC().Format(core.TimeFormat)
			rows[i].Next = &next
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode schedules: %w", err))
	}
	_, err = s.Exec(ctx, "advance schedules", `UPDATE trigger_schedules AS s SET dealt_with = r.dealt_with, next_at = r.next_at FROM `+
		s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "trigger_id"}, core.Column{Name: "dealt_with", Time: true}, core.Column{Name: "next_at", Time: true})+
		` WHERE s.tenant_id = r.tenant_id AND s.trigger_id = r.trigger_id`, string(text))
	return err
}

// Postpone moves the next look of what is due.
func (s schedules) Postpone(ctx context.Context, now, until time.Time, of outbound.TriggerKey) error {
	_, err := s.Exec(ctx, "put off schedules", `UPDATE trigger_schedules AS s SET next_at = $3 FROM (
			SELECT d.tenant_id, d.trigger_id FROM trigger_schedules d
			WHERE d.tenant_id = $1 AND d.next_at <= $2 AND ($4 = '' OR d.trigger_id = $4)`+core.HasLevel("d", s.Level())+s.store.dialect.ClaimRows+`
		) AS m WHERE s.tenant_id = m.tenant_id AND s.trigger_id = m.trigger_id`, string(of.Scope.Tenant()), now, until, string(of.Trigger))
	return err
}

// Next finds the earliest look, and reads the clock with it.
func (s schedules) Next(ctx context.Context) (at, now time.Time, err error) {
	var row struct {
		At  *core.Instant `db:"next_at"`
		Now core.Instant  `db:"now"`
	}
	err = s.ReadRowUnprepared(ctx, "find the next schedule", &row, `SELECT
		(SELECT s.next_at FROM trigger_schedules s WHERE s.next_at IS NOT NULL`+core.HasLevel("s", s.Level())+` ORDER BY s.next_at LIMIT 1) AS next_at, `+s.store.dialect.Clock+` AS now`)
	if row.At != nil {
		at = row.At.Time
	}
	return at, row.Now.Time, err
}
