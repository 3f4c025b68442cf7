package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type runQueue struct{ runs }

var _ outbound.RunQueue = runQueue{}

// lendRuns lends those of the runs of the parameter $1 that are free at $2 and that no
// other unit has, in their order until the runs before are as large as $5, and returns
// them in any order. $3 is when the leases end, $4 who gets them. That a run is still free
// is asked in a way that no index answers, so that its key finds it.
func (d Dialect) lendRuns() string {
	held := ""
	if d.ForUpdate != "" {
		held = d.ForUpdate + " OF u SKIP LOCKED"
	}
	return `WITH wanted AS MATERIALIZED (
		SELECT r.owner_id, r.run_id, CAST(r.place AS bigint) AS place FROM ` + d.Rows(Column{Name: "owner_id"}, Column{Name: "run_id"}, Column{Name: "place"}) + `
	), mine AS MATERIALIZED (
		SELECT w.owner_id, w.run_id, w.place, octet_length(u.progress) + u.outputs + CASE WHEN u.payload_id IS NULL THEN octet_length(u.payload)
			ELSE (SELECT octet_length(p.payload) FROM run_payloads p WHERE p.tenant_id = u.tenant_id AND p.id = u.payload_id) END AS size
		FROM wanted w CROSS JOIN runs u WHERE u.tenant_id = w.owner_id AND u.id = w.run_id AND (u.free_at <= $2) IS TRUE` + held + `
	), fitting AS (
		SELECT owner_id, run_id FROM (SELECT m.*, sum(size) OVER (ORDER BY place) - size AS before FROM mine m) AS weighed WHERE before < $5
	)
	UPDATE runs SET lease = lease + 1, lease_until = $3, worker = $4,
		alone = CASE WHEN lease_until IS NULL OR worker IN ('', $4) THEN 0 WHEN alone = 2 THEN 3 ELSE 1 END
	FROM fitting m WHERE runs.tenant_id = m.owner_id AND runs.id = m.run_id
	RETURNING ` + lentColumns
}

// lendRow is a row of [Dialect.Rows].
type lendRow struct {
	Owner string `json:"owner_id"`
	Run   string `json:"run_id"`
	Place int    `json:"place"`
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
	t, crowded, err := s.turns(ctx, now, c.Limit, c.PerTenant)
	if err != nil {
		return nil, s.spoil(err)
	}
	if crowded {
		if _, err := s.exec(ctx, "let runs take turns", s.store.runs.letIn, now); err != nil {
			return nil, err
		}
	}
	chosen := t.chosen(c.Limit, c.PerTenant)
	if len(chosen) == 0 {
		return nil, nil
	}
	lent, err := s.lend(ctx, now, c, chosen)
	if err != nil {
		return nil, err
	}
	next := t.next(c.Limit, chosen)
	s.store.runs.served.Store(&next)
	return lent, nil
}

// lend lends those of the runs that nobody is changing and that there is room for, and
// puts off the others that cannot be read.
func (s runQueue) lend(ctx context.Context, now time.Time, c outbound.RunClaim, chosen []keyRow) ([]outbound.LentRun, error) {
	wanted := make([]lendRow, len(chosen))
	places := make(map[string]int, len(chosen))
	for i, key := range chosen {
		wanted[i] = lendRow{key.Tenant, key.ID, i}
		places[key.ID] = i
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return nil, s.spoil(fmt.Errorf("encode runs: %w", err))
	}
	until, room := now.Add(c.Period), c.Bytes
	if room == 0 {
		room = math.MaxInt64
	}
	rows, err := s.scan(ctx, "lend runs", s.store.runs.lend, string(text), now, until, c.Worker, room)
	if err != nil {
		return nil, s.spoil(err)
	}
	slices.SortFunc(rows, func(a, b runRow) int { return places[a.ID] - places[b.ID] })
	var putOff []keyRow
	lent := make([]outbound.LentRun, len(rows))
	for i := range rows {
		row := &rows[i]
		lease := outbound.RunLease{Tenant: tenant.ID(row.Tenant), Run: run.ID(row.ID), Number: row.Lease}
		lent[i] = outbound.LentRun{Lease: lease, Until: until, At: now, Size: row.Size, Before: row.Alone.end()}
		if row.isLarge() {
			continue
		}
		if lent[i].Run, err = row.restore(); err != nil {
			putOff = append(putOff, keyRow{row.Tenant, row.ID})
			lease.Number = 0
			lent[i] = outbound.LentRun{Lease: lease, At: now, Unreadable: err}
		}
	}
	return lent, s.change(ctx, "put off runs", `lease_until = NULL, due_at = $2`, putOff, now.Add(outbound.UnreadableWait))
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
		UPDATE runs SET lease_until = $2, worker = CASE WHEN $3 THEN '' ELSE worker END FROM mine AS m WHERE runs.tenant_id = m.tenant_id AND runs.id = m.id
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
	if err = s.list(ctx, "renew leases", &renewed, s.store.dialect.renewLeases(), string(text), now.Add(period), period == 0); err != nil {
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

// leaseEnd says in the column alone what is known of the run beside its lease.
type leaseEnd int

const (
	expiredForAnother leaseEnd = 1 // the lease before ended by its time, for another worker
	triedAlone        leaseEnd = 2 // the worker that has it tries it alone
	endedAlone        leaseEnd = 3 // the lease before ended by its time while it was tried alone
)

func (e leaseEnd) end() outbound.LeaseEnd {
	switch e {
	case expiredForAnother, triedAlone:
		return outbound.LeaseExpired
	case endedAlone:
		return outbound.LeaseEndedAlone
	}
	return outbound.LeaseReturned
}

// TryAlone notes that a run is tried alone.
func (s runQueue) TryAlone(ctx context.Context, lease outbound.RunLease) error {
	n, err := s.exec(ctx, "try a run alone", `UPDATE runs SET alone = $1 WHERE tenant_id = $2 AND id = $3 AND lease = $4 AND lease_until IS NOT NULL`,
		triedAlone, string(lease.Tenant), string(lease.Run), lease.Number)
	if err == nil && n != 1 {
		err = s.spoil(s.stale(ctx, lease.Tenant, lease.Run))
	}
	return err
}

// nextRun selects the earliest time at which a run is free, null for never. Of the runs
// that are found by their time it looks at the first ones only: those of tenants that are
// not active may be among them, and if no others are, the last of them is when to look
// again.
const nextRun = `WITH RECURSIVE ready (tenant_id, active) AS (
		SELECT t.id, t.status = 'active' FROM tenants t WHERE t.id = @first
		UNION ALL
		SELECT t.id, t.status = 'active' FROM ready w JOIN tenants t ON t.id = @next AND NOT w.active
	), timed AS MATERIALIZED (
		SELECT f.free_at, f.tenant_id FROM runs f WHERE ` + isTimed + ` ORDER BY f.free_at, f.tenant_id, f.id LIMIT @soonest
	)
	SELECT min(free_at) FROM (
		SELECT (SELECT f.ready_at FROM runs f WHERE f.tenant_id = w.tenant_id AND ` + takesTurns + ` ORDER BY f.ready_at, f.id LIMIT 1) AS free_at FROM ready w WHERE w.active
		UNION ALL SELECT s.free_at FROM timed s JOIN tenants t ON t.id = s.tenant_id WHERE t.status = 'active'
		UNION ALL SELECT max(s.free_at) FROM timed s HAVING count(*) = @soonest
	) AS all_of_them`

func nextFree() string {
	return strings.NewReplacer("@first", afterTenant("''"), "@next", afterTenant("w.tenant_id"), "@soonest", fmt.Sprint(soonest)).Replace(nextRun)
}

// Next finds the earliest time at which a run is free.
func (s runQueue) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	var first sql.Null[rowInstant]
	if err = s.getAnew(ctx, "find the next run", &first, s.store.runs.next); err != nil {
		return time.Time{}, false, err
	}
	return first.V.Time, first.Valid, nil
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
