package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// schedules is kept in step with what can fire by the schema's own triggers (migration
// 00008), so that no way of changing a trigger, version, workflow or tenant can forget
// to.
type schedules struct{ *unit }

var _ outbound.ScheduleRepository = schedules{}

// triggerColumnsOfT are the columns of a trigger in a query that calls the table t.
var triggerColumnsOfT = "t." + strings.ReplaceAll(triggerColumns, ", ", ", t.")

// Due claims the schedules that have to be looked at, with their triggers.
func (s schedules) Due(ctx context.Context, now time.Time, limit int) ([]outbound.DueSchedule, error) {
	var rows []struct {
		triggerRow
		DealtWith time.Time `db:"dealt_with"`
	}
	dialect := s.store.dialect
	err := s.list(ctx, "claim due schedules", &rows, `WITH due AS MATERIALIZED (
			SELECT tenant_id, trigger_id, dealt_with, next_at FROM trigger_schedules
			WHERE next_at <= $1 ORDER BY next_at LIMIT $2`+dialect.ClaimRows+`)
		SELECT `+triggerColumnsOfT+`, due.dealt_with FROM due JOIN triggers t ON t.tenant_id = due.tenant_id AND t.id = due.trigger_id
		ORDER BY due.next_at, due.tenant_id, due.trigger_id`+dialect.KeepTriggers, now, limit)
	if err != nil {
		return nil, err
	}
	due := make([]outbound.DueSchedule, len(rows))
	for i, row := range rows {
		due[i] = outbound.DueSchedule{Trigger: row.restore(), DealtWith: row.DealtWith.UTC()}
	}
	return due, nil
}

// lookedAtRow is a row of [Dialect.Rows].
type lookedAtRow struct {
	Tenant    string  `json:"tenant_id"`
	Trigger   string  `json:"trigger_id"`
	DealtWith string  `json:"dealt_with"`
	Next      *string `json:"next_at"`
}

// Advance moves schedules on, all in one statement.
func (s schedules) Advance(ctx context.Context, looked []outbound.LookedAt) error {
	if len(looked) == 0 {
		return nil
	}
	rows := make([]lookedAtRow, len(looked))
	for i, l := range looked {
		rows[i] = lookedAtRow{Tenant: string(l.Tenant), Trigger: string(l.Trigger), DealtWith: l.DealtWith.UTC().Format(rowTime)}
		if !l.Next.IsZero() {
			next := l.Next.UTC().Format(rowTime)
			rows[i].Next = &next
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.spoil(fmt.Errorf("encode schedules: %w", err))
	}
	_, err = s.exec(ctx, "advance schedules", `UPDATE trigger_schedules AS s SET dealt_with = r.dealt_with, next_at = r.next_at FROM `+
		s.store.dialect.Rows(Column{Name: "tenant_id"}, Column{Name: "trigger_id"}, Column{Name: "dealt_with", Time: true}, Column{Name: "next_at", Time: true})+
		` WHERE s.tenant_id = r.tenant_id AND s.trigger_id = r.trigger_id`, string(text))
	return err
}

// Next finds the earliest look.
func (s schedules) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	err = s.get(ctx, "find the next schedule", &at, `SELECT next_at FROM trigger_schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1`)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, err
	default:
		return at.UTC(), true, nil
	}
}
