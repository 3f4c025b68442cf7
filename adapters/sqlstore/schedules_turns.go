package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/process"
)

// scheduleTurns remembers which tenant this process came to last. Processes do not notify
// one another: what one has, the others leave out, and come to the next ones.
type scheduleTurns struct {
	mu   sync.Mutex // held while a unit finds whose turn it is, so that the next one goes on behind those
	last string
}

// tenantsPerTurn bounds how many tenants that have nothing due are passed by to find those
// that have: some milliseconds.
const tenantsPerTurn = 1000

// tenantsWithSchedules selects tenants after $1, and when each is to be looked at first, by
// leaping through the index: it costs as much as there are, however many schedules they
// have. The orders leave no other index to choose.
func tenantsWithSchedules(level process.Level) string {
	of := ` FROM trigger_schedules s WHERE s.next_at IS NOT NULL` + core.HasLevel("s", level)
	const first = ` ORDER BY s.tenant_id, s.next_at LIMIT 1)`
	return `WITH RECURSIVE visited (tenant_id, place) AS (
		SELECT * FROM (SELECT s.tenant_id, 1` + of + ` AND s.tenant_id > $1` + first + ` AS first
		UNION ALL
		SELECT (SELECT s.tenant_id` + of + ` AND s.tenant_id > v.tenant_id` + first + `, v.place + 1
		FROM visited v WHERE v.tenant_id IS NOT NULL AND v.place < $2
	)
	SELECT v.tenant_id, (SELECT s.next_at` + of + ` AND s.tenant_id = v.tenant_id` + first + ` AS next_at
	FROM visited v WHERE v.tenant_id IS NOT NULL ORDER BY v.place`
}

// scheduleOwnerRow is a row of [core.Dialect.Rows].
type scheduleOwnerRow struct {
	Owner string `json:"owner_id"`
}

// tenantsInTurn returns tenants that have schedules which are due: at most limit, those whose turn
// it is.
func (s schedules) tenantsInTurn(ctx context.Context, now time.Time, limit int) (owners []scheduleOwnerRow, err error) {
	var visited []struct {
		Tenant string       `db:"tenant_id"`
		Next   core.Instant `db:"next_at"`
	}
	turns := &s.store.turns
	turns.mu.Lock()
	defer turns.mu.Unlock()
	if err = s.ReadRows(ctx, "find whose turn it is", &visited, tenantsWithSchedules(s.Level()), turns.last, tenantsPerTurn); err != nil {
		return nil, err
	}
	last := "" // all were visited: the next time from the first one on
	if len(visited) == tenantsPerTurn {
		last = visited[len(visited)-1].Tenant
	}
	for _, v := range visited {
		if v.Next.After(now) {
			continue
		}
		if owners = append(owners, scheduleOwnerRow{v.Tenant}); len(owners) == limit {
			last = v.Tenant
			break
		}
	}
	turns.last = last
	return owners, nil
}

// firstOfEach selects the most overdue schedules of each owner r, as many as $3 says.
// CROSS JOIN keeps SQLite from beginning with the schedules.
func (d Dialect) firstOfEach(level process.Level) string {
	owners := d.Rows(1, core.Column{Name: "owner_id"})
	first := `s.tenant_id = r.owner_id AND s.next_at <= $2` + core.HasLevel("s", level) + ` ORDER BY s.next_at, s.trigger_id LIMIT $3`
	if d.Lateral {
		return `SELECT s.tenant_id, s.trigger_id, s.dealt_with, s.next_at FROM ` + owners + ` CROSS JOIN LATERAL (
			SELECT ` + dueColumns + ` FROM trigger_schedules s WHERE ` + first + d.ClaimRows + `) AS s`
	}
	return `SELECT d.tenant_id, d.trigger_id, d.dealt_with, d.next_at FROM ` + owners + ` CROSS JOIN trigger_schedules d
		WHERE d.tenant_id = r.owner_id AND d.trigger_id IN (SELECT s.trigger_id FROM trigger_schedules s WHERE ` + first + `)`
}

// byTurns claims an equal share for each of the tenants whose turn it is, and fills up
// with what is most overdue: where one tenant has much, nearly all of a unit goes to it,
// and nobody waits for that.
func (s schedules) byTurns(ctx context.Context, now time.Time, limit int) ([]dueScheduleRow, error) {
	if err := s.SetUp(ctx, s.store.dialect.ClaimSchedules); err != nil {
		return nil, err
	}
	owners, err := s.tenantsInTurn(ctx, now, limit)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(owners)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode tenants: %w", err))
	}
	var rows []dueScheduleRow
	if len(owners) > 0 {
		if rows, err = s.claim(ctx, "", s.store.dialect.firstOfEach(s.Level()), string(text), now, limit/len(owners)); err != nil {
			return nil, err
		}
	}
	if len(rows) == limit {
		return rows, nil
	}
	keys := make([]core.KeyRow, len(rows))
	for i, row := range rows {
		keys[i] = row.key()
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, s.Fail(err)
	}
	most, err := s.claim(ctx, "", `SELECT `+dueColumns+` FROM trigger_schedules s
		WHERE s.next_at <= $2`+core.HasLevel("s", s.Level())+` AND (s.tenant_id, s.trigger_id) NOT IN (SELECT r.tenant_id, r.id FROM `+table+`)
		ORDER BY s.next_at LIMIT $3`+s.store.dialect.ClaimRows, parameter, now, limit-len(rows))
	return append(rows, most...), err
}
