package runs

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type queue struct{ repository }

var _ outbound.RunQueue = queue{}

// leaseableRow is a row of [core.Dialect.Rows].
type leaseableRow struct {
	Owner string `json:"owner_id"`
	Run   string `json:"run_id"`
	Place int    `json:"place"`
}

// Claim leases runs. Units that claim do so one after another: only then each knows of
// all leases that the others gave, so that the bound of a tenant holds, and none comes
// away with nothing because another one looked at the same runs.
func (s queue) Claim(ctx context.Context, c outbound.RunClaim) ([]outbound.LeasedRun, error) {
	if !s.InTransaction() {
		return nil, s.Fail(errUnit)
	}
	now, err := s.clock(ctx, s.store.dialect.BeginClaim)
	if err != nil {
		return nil, err
	}
	t, crowded, err := s.turns(ctx, now, c.Limit, c.PerTenant)
	if err != nil {
		return nil, s.Fail(err)
	}
	if crowded {
		if _, err := s.Exec(ctx, "promote runs", s.store.dialect.Promote, now, int(s.Level()), s.store.ServesTemporal); err != nil {
			return nil, err
		}
	}
	chosen := t.chosen(c.Limit, c.PerTenant)
	if len(chosen) == 0 {
		return nil, nil
	}
	leased, err := s.lease(ctx, now, c, chosen)
	if err != nil {
		return nil, err
	}
	next := t.next(c.Limit, chosen)
	s.store.served.Store(&next)
	return leased, nil
}

// leasedRow is what a lease returns of a run.
type leasedRow struct {
	Tenant string   `db:"tenant_id"`
	ID     string   `db:"id"`
	Number int64    `db:"lease"`
	Alone  leaseEnd `db:"alone"`
	Woken  int64    `db:"woken"`
	Engine string   `db:"engine"`
}

// lease leases those of the runs that nobody is changing and that there is room for, and
// puts off the others that cannot be read.
func (s queue) lease(ctx context.Context, now time.Time, c outbound.RunClaim, chosen []core.KeyRow) ([]outbound.LeasedRun, error) {
	wanted := make([]leaseableRow, len(chosen))
	places := make(map[string]int, len(chosen))
	for i, key := range chosen {
		wanted[i] = leaseableRow{key.Tenant, key.ID, i}
		places[key.ID] = i
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode runs: %w", err))
	}
	until, maxBytes := now.Add(c.Period), c.Bytes
	if maxBytes == 0 {
		maxBytes = math.MaxInt64
	}
	var rows []leasedRow
	err = s.ReadRows(ctx, "lease runs", &rows, s.store.dialect.Lease, string(text), now, until, c.Worker, maxBytes, now.UnixMilli())
	if err != nil {
		return nil, s.Fail(err)
	}
	s.store.liveRunsChanged(len(rows))
	slices.SortFunc(rows, func(a, b leasedRow) int { return places[a.ID] - places[b.ID] })
	found, err := s.readLeased(ctx, rows)
	if err != nil {
		return nil, s.Fail(err)
	}
	var putOff []core.KeyRow
	var whole []*run.Run
	leased := make([]outbound.LeasedRun, 0, len(rows))
	for _, row := range rows {
		stored := found[core.KeyRow{Tenant: row.Tenant, ID: row.ID}]
		if stored == nil {
			continue // deleted since it was found
		}
		lease := outbound.RunLease{Tenant: tenant.ID(row.Tenant), Run: run.ID(row.ID), Number: row.Number}
		one := outbound.LeasedRun{Lease: lease, Until: until, At: now, Size: stored.Size, LastLeaseEnd: row.Alone.end(), Woken: row.Woken, Engine: run.Engine(row.Engine)}
		if !stored.isLarge() {
			if one.Run, err = stored.restore(); err != nil {
				putOff = append(putOff, core.KeyRow{Tenant: row.Tenant, ID: row.ID})
				lease.Number = 0
				one = outbound.LeasedRun{Lease: lease, At: now, Unreadable: err}
			} else {
				whole = append(whole, one.Run)
			}
		}
		leased = append(leased, one)
	}
	run.ReadOnce(whole...)
	return leased, s.change(ctx, "put off runs", `lease_until = NULL, due_at = $2`, putOff, now.Add(outbound.UnreadableWait))
}

// change sets columns of live runs to what follows from the arguments, which are $2 and so on.
func (s queue) change(ctx context.Context, what, set string, of []core.KeyRow, args ...any) error {
	if len(of) == 0 {
		return nil
	}
	table, parameter, err := s.store.dialect.Keys(of)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, what, `UPDATE live_runs AS u SET `+set+` FROM `+table+` WHERE u.tenant_id = r.tenant_id AND u.id = r.id`,
		append([]any{parameter}, args...)...)
	return err
}

// leaseRow is a row of [core.Dialect.Rows].
type leaseRow struct {
	Owner  string `json:"owner_id"`
	Run    string `json:"run_id"`
	Number int64  `json:"number"`
}

type keptLeaseRow struct {
	Tenant string `db:"tenant_id"`
	ID     string `db:"id"`
	Seq    int64  `db:"seq"`
	Woken  int64  `db:"woken"`
}

// Renew moves the ends of leases, all in one statement, and looks at those that it left
// out in a second one. A lease that ends in between is gone; none becomes good again.
func (s queue) Renew(ctx context.Context, leases []outbound.RunLease, period time.Duration) ([]outbound.RenewedLease, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	if !s.InTransaction() || !s.Writes() {
		return nil, s.Fail(errUnit)
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
		return nil, s.Fail(fmt.Errorf("encode leases: %w", err))
	}
	var renewed, kept []keptLeaseRow
	if err = s.ReadRows(ctx, "renew leases", &renewed, s.store.dialect.Renew, string(text), now.Add(period), period == 0); err != nil {
		return nil, s.Fail(err)
	}
	if len(renewed) < len(leases) && s.store.dialect.ForUpdate != "" {
		if err = s.ReadRows(ctx, "look at leases", &kept, s.store.dialect.Held, string(text)); err != nil {
			return nil, s.Fail(err)
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
		good = append(good, outbound.RenewedLease{RunLease: lease, Seq: k.Seq, Woken: k.Woken, Skipped: i >= len(renewed)})
	}
	return good, nil
}

// TakeOver gives the lease a number of its own, by which whoever had it notices.
func (s queue) TakeOver(ctx context.Context, lease outbound.RunLease, worker string, period time.Duration) (outbound.LeasedRun, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return outbound.LeasedRun{}, err
	}
	var row struct {
		leasedRow
		Size int64 `db:"size"`
	}
	err = s.ReadRow(ctx, "take a lease over", &row, `UPDATE live_runs SET lease = lease + 1, lease_until = $1, worker = $2
		WHERE tenant_id = $3 AND id = $4 AND lease = $5 AND lease_until IS NOT NULL RETURNING tenant_id, id, lease, alone, woken, engine, size`,
		now.Add(period), worker, string(lease.Tenant), string(lease.Run), lease.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return outbound.LeasedRun{}, s.Fail(s.stale(ctx, lease.Tenant, lease.Run))
	}
	lease.Number = row.Number
	return outbound.LeasedRun{Lease: lease, Until: now.Add(period), At: now, Size: row.Size, LastLeaseEnd: row.Alone.end(), Woken: row.Woken, Engine: run.Engine(row.Engine)}, err
}

// leaseEnd says in the column alone what is known of the run apart from its lease.
type leaseEnd int

const (
	expired         leaseEnd = 1 // the lease before ended by its time, for another worker
	isolated        leaseEnd = 2 // the worker that has it tries it alone
	expiredIsolated leaseEnd = 3 // the lease before ended by its time while it was tried alone
)

func (e leaseEnd) end() outbound.LeaseEnd {
	switch e {
	case expired, isolated:
		return outbound.LeaseExpired
	case expiredIsolated:
		return outbound.LeaseExpiredIsolated
	}
	return outbound.LeaseReturned
}

// MarkIsolated notes that a run is tried alone.
func (s queue) MarkIsolated(ctx context.Context, lease outbound.RunLease) error {
	n, err := s.Exec(ctx, "try a run alone", `UPDATE live_runs SET alone = $1 WHERE tenant_id = $2 AND id = $3 AND lease = $4 AND lease_until IS NOT NULL`,
		isolated, string(lease.Tenant), string(lease.Run), lease.Number)
	if err == nil && n != 1 {
		err = s.Fail(s.stale(ctx, lease.Tenant, lease.Run))
	}
	return err
}

//go:embed next.sql
var nextRun string

const nextRunAfter = `SELECT (SELECT f.free_at FROM live_runs f
	WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at > $1 AND f.needs_level <= $2 AND (f.engine <> 'temporal' OR $3)
	ORDER BY f.free_at, f.tenant_id, f.id LIMIT 1)`

// Next finds the earliest time at which a run is free.
func (s queue) Next(ctx context.Context, after time.Time) (at time.Time, ok bool, err error) {
	statement, args := nextRun, []any{int(s.Level()), s.store.ServesTemporal}
	if !after.IsZero() {
		statement, args = nextRunAfter, []any{after, int(s.Level()), s.store.ServesTemporal}
	}
	var first sql.Null[core.Instant]
	if err = s.ReadRowUnprepared(ctx, "find the next run", &first, statement, args...); err != nil {
		return time.Time{}, false, err
	}
	return first.V.Time, first.Valid, nil
}

// Now reads the database's clock.
func (s queue) Now(ctx context.Context) (time.Time, error) {
	return s.clock(ctx, `SELECT `+s.store.dialect.Clock)
}

func (s queue) clock(ctx context.Context, query string) (time.Time, error) {
	var now core.Instant
	err := s.ReadRow(ctx, "read the clock", &now, query)
	return now.Time, err
}
