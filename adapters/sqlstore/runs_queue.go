package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type runQueue struct{ runs }

var _ outbound.RunQueue = runQueue{}

// tenantsWithRuns finds the active tenants that have runs which are or will be free, by
// leaping through the index: it costs as much as there are, however many runs wait or
// have finished. The order leaves no other index to choose.
const tenantsWithRuns = `owners (tenant_id) AS (
		SELECT * FROM (SELECT f.tenant_id FROM runs f WHERE f.free_at IS NOT NULL ORDER BY f.tenant_id, f.free_at, f.id LIMIT 1) AS first
		UNION ALL
		SELECT (SELECT f.tenant_id FROM runs f WHERE f.free_at IS NOT NULL AND f.tenant_id > o.tenant_id ORDER BY f.tenant_id, f.free_at, f.id LIMIT 1)
		FROM owners o WHERE o.tenant_id IS NOT NULL
	), served (tenant_id) AS (
		SELECT o.tenant_id FROM owners o JOIN tenants t ON t.id = o.tenant_id WHERE t.status = 'active'
	)`

// foremostRuns are, for each row of counted c, the runs r that are free, as many as are
// asked for. Which index is used must not be left to statistics, which a new table does
// not have: the wrong one reads every run of the tenant. CROSS JOIN keeps SQLite from
// beginning with the runs.
func (d Dialect) foremostRuns() string {
	const (
		free  = `FROM runs f WHERE f.tenant_id = c.tenant_id AND f.free_at <= $1`
		first = ` ORDER BY f.free_at, f.id LIMIT $2`
	)
	if d.Lateral {
		return `counted c CROSS JOIN LATERAL (SELECT f.tenant_id, f.id, f.free_at ` + free + first + `) AS r`
	}
	return `counted c CROSS JOIN runs r WHERE r.tenant_id = c.tenant_id AND r.id IN (SELECT f.id ` + free + first + `)`
}

// claimRuns selects the runs to lend, in the order of their turns. Parameters: now, how
// many, how many of a tenant, and the tenant that was served last. That a run is still
// free is asked in a way that no index answers, so that its key finds it.
func (d Dialect) claimRuns() string {
	return `WITH RECURSIVE ` + tenantsWithRuns + `, counted AS MATERIALIZED (
		SELECT s.tenant_id, (SELECT count(*) FROM runs l WHERE l.tenant_id = s.tenant_id AND l.lease_until > $1) AS leased FROM served s
	), turns AS (
		SELECT r.tenant_id, r.id, r.free_at, c.leased + row_number() OVER (PARTITION BY r.tenant_id ORDER BY r.free_at, r.id) AS turn
		FROM ` + d.foremostRuns() + `
	), foremost AS (
		SELECT tenant_id AS owner_id, id AS run_id, turn, free_at AS since, CASE WHEN tenant_id > $4 THEN 0 ELSE 1 END AS lap
		FROM turns WHERE turn <= $3 ORDER BY turn, lap, tenant_id, since, id LIMIT $2
	)
	SELECT ` + runColumns + ` FROM foremost t CROSS JOIN runs r WHERE r.tenant_id = t.owner_id AND r.id = t.run_id AND (r.free_at <= $1) IS TRUE
	ORDER BY t.turn, t.lap, t.owner_id, t.since, t.run_id` + d.ClaimRows
}

// Claim lends runs. Units that claim do so one after another: only then each knows of
// all leases that the others gave, so that the bound of a tenant holds, and none comes
// away with nothing because another one looked at the same runs.
func (s runQueue) Claim(ctx context.Context, c outbound.RunClaim) ([]outbound.LentRun, error) {
	if s.tx == nil {
		return nil, s.spoil(errRunUnit)
	}
	now, err := s.clock(ctx, s.store.dialect.ClaimTurn)
	if err != nil {
		return nil, err
	}
	rows, err := s.scan(ctx, "claim runs", s.store.runs.claim, now, c.Limit, c.PerTenant, s.store.runs.lastServed())
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var lend, putOff []keyRow
	lent := make([]outbound.LentRun, len(rows))
	until := now.Add(c.Period)
	for i := range rows {
		key := keyRow{rows[i].Tenant, rows[i].ID}
		lease := outbound.RunLease{Tenant: tenant.ID(rows[i].Tenant), Run: run.ID(rows[i].ID)}
		r, err := rows[i].restore()
		if err != nil {
			putOff = append(putOff, key)
			lent[i] = outbound.LentRun{Lease: lease, At: now, Unreadable: err}
			continue
		}
		lend, lease.Number = append(lend, key), rows[i].Lease+1
		lent[i] = outbound.LentRun{Run: r, Lease: lease, Until: until, At: now}
	}
	err = errors.Join(
		s.change(ctx, "lend runs", `lease = u.lease + 1, lease_until = $2, worker = $3`, lend, until, c.Worker),
		s.change(ctx, "put off runs", `due_at = $2`, putOff, now.Add(outbound.UnreadableWait)),
	)
	if err != nil {
		return nil, err
	}
	s.store.runs.served.Store(&rows[len(rows)-1].Tenant)
	return lent, nil
}

// change sets columns of runs to what follows from the arguments, which are $2 and so on.
func (s runQueue) change(ctx context.Context, what, set string, of []keyRow, args ...any) error {
	if len(of) == 0 {
		return nil
	}
	table, parameter, err := s.keys(of)
	if err != nil {
		return s.spoil(err)
	}
	_, err = s.exec(ctx, what, `UPDATE runs AS u SET `+set+` FROM `+table+` WHERE u.tenant_id = r.tenant_id AND u.id = r.id`,
		append([]any{parameter}, args...)...)
	return err
}

// leaseRow is a row of [Dialect.Rows].
type leaseRow struct {
	Owner  string `json:"owner_id"`
	Run    string `json:"run_id"`
	Number int64  `json:"number"`
}

// keptLeases are those of the parameter $1 that are still good.
func (d Dialect) keptLeases() string {
	return `SELECT u.tenant_id, u.id, u.seq FROM runs u, ` + d.Rows(Column{Name: "owner_id"}, Column{Name: "run_id"}, Column{Name: "number"}) + `
		WHERE u.tenant_id = r.owner_id AND u.id = r.run_id AND u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL`
}

// renewLeases leaves out the runs that another unit has: whoever holds one of them, for
// whatever reason, must not end the leases of all others. Once the rows are held nothing
// has to be waited for.
func (d Dialect) renewLeases() string {
	held := ""
	if d.ForUpdate != "" {
		held = d.ForUpdate + " OF u SKIP LOCKED"
	}
	return `WITH mine AS MATERIALIZED (` + d.keptLeases() + held + `)
		UPDATE runs SET lease_until = $2 FROM mine AS m WHERE runs.tenant_id = m.tenant_id AND runs.id = m.id
		RETURNING runs.tenant_id, runs.id, runs.seq`
}

type keptLeaseRow struct {
	Tenant string `db:"tenant_id"`
	ID     string `db:"id"`
	Seq    int64  `db:"seq"`
}

// Renew moves the ends of leases, all in one statement, and looks at those that it left
// out in a second one. A lease that ends in between is gone; none becomes good again.
func (s runQueue) Renew(ctx context.Context, leases []outbound.RunLease, period time.Duration) ([]outbound.RenewedLease, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	if s.tx == nil || !s.writing {
		return nil, s.spoil(errRunUnit)
	}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]leaseRow, len(leases))
	numbers := make(map[run.ID]int64, len(leases))
	for i, l := range leases {
		rows[i] = leaseRow{string(l.Tenant), string(l.Run), l.Number}
		numbers[l.Run] = l.Number
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, s.spoil(fmt.Errorf("encode leases: %w", err))
	}
	var renewed, kept []keptLeaseRow
	if err = s.list(ctx, "renew leases", &renewed, s.store.dialect.renewLeases(), string(text), now.Add(period)); err != nil {
		return nil, s.spoil(err)
	}
	if len(renewed) < len(leases) && s.store.dialect.ForUpdate != "" {
		if err = s.list(ctx, "look at leases", &kept, s.store.dialect.keptLeases(), string(text)); err != nil {
			return nil, s.spoil(err)
		}
	}
	good := make([]outbound.RenewedLease, 0, len(leases))
	seen := make(map[run.ID]bool, len(leases))
	for i, k := range slices.Concat(renewed, kept) {
		id := run.ID(k.ID)
		if seen[id] {
			continue
		}
		seen[id] = true
		lease := outbound.RunLease{Tenant: tenant.ID(k.Tenant), Run: id, Number: numbers[id]}
		good = append(good, outbound.RenewedLease{RunLease: lease, Seq: k.Seq, Skipped: i >= len(renewed)})
	}
	return good, nil
}

// Next finds the earliest time at which a run is free.
func (s runQueue) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	var first rowInstant
	err = s.get(ctx, "find the next run", &first, `WITH RECURSIVE `+tenantsWithRuns+`, firsts AS (
			SELECT (SELECT min(f.free_at) FROM runs f WHERE f.tenant_id = s.tenant_id AND f.free_at IS NOT NULL) AS free_at FROM served s
		) SELECT free_at FROM firsts WHERE free_at IS NOT NULL ORDER BY free_at LIMIT 1`)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, err
	default:
		return first.Time, true, nil
	}
}

// Now reads the database's clock.
func (s runQueue) Now(ctx context.Context) (time.Time, error) {
	return s.clock(ctx, `SELECT `+s.store.dialect.Clock)
}

func (s runQueue) clock(ctx context.Context, query string) (time.Time, error) {
	var now rowInstant
	err := s.get(ctx, "read the clock", &now, query)
	return now.Time, err
}

// rowInstant is an instant that a database computed, which SQLite gives as text.
type rowInstant struct{ time.Time }

// Scan reads what the driver has.
func (i *rowInstant) Scan(value any) error {
	switch v := value.(type) {
	case time.Time:
		i.Time = v.UTC()
		return nil
	case string:
		at, err := time.Parse(rowTime, v)
		i.Time = at.UTC()
		return err
	default:
		return fmt.Errorf("an instant is kept as %T", value)
	}
}
