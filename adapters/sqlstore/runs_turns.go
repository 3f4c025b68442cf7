package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// besides is how many tenants a claim looks at besides as many as it wants runs, to
	// begin with those of whom the fewest runs are worked on.
	besides = 16

	// soonest is how many runs whose time has come a claim looks at, besides those that
	// take turns. When there are more, letIn of them are let in.
	soonest = 256
	letIn   = 500
)

// What says that a run takes turns, and that it is found by its time. Both are as in the
// indexes, which are used for nothing else.
const (
	takesTurns = `f.ready_at = f.free_at`
	isTimed    = `f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at`
)

// afterTenant is the next tenant of whom runs take turns. The order leaves no other
// index to choose, whatever statistics say: the wrong one reads every run of a tenant.
func afterTenant(id string) string {
	return `(SELECT f.tenant_id FROM runs f WHERE ` + takesTurns + ` AND f.tenant_id > ` + id + ` ORDER BY f.tenant_id, f.ready_at LIMIT 1)`
}

// walk is a table of tenants of whom runs take turns, in the order of their ids, found by
// leaping through the index: what it costs is the number of tenants on the way. found
// counts those before that may get runs; the walk ends when it is bound.
func walk(name, first, more, found, bound string) string {
	const columns = `t.id, (SELECT count(*) FROM runs l WHERE l.tenant_id = t.id AND l.lease_until > $1), t.status = 'active', `
	const gets = `CASE WHEN w.active AND w.leased < $3 THEN 1 ELSE 0 END`
	return name + ` (tenant_id, leased, active, found) AS (
		SELECT ` + columns + found + ` FROM tenants t WHERE t.id = ` + afterTenant(first) + more + ` AND ` + found + ` < ` + bound + `
		UNION ALL
		SELECT ` + columns + `w.found + ` + gets + `
		FROM ` + name + ` w JOIN tenants t ON t.id = ` + afterTenant("w.tenant_id") + more + ` AND w.found + ` + gets + ` < ` + bound + `
	)`
}

// elapsedRuns are those of which the time has come, as far as a claim looks. Parameter $1:
// now.
var elapsedRuns = `elapsed AS MATERIALIZED (
		SELECT f.tenant_id, f.id, f.free_at FROM runs f WHERE ` + isTimed + ` AND f.free_at <= $1 ORDER BY f.free_at, f.tenant_id, f.id LIMIT ` + fmt.Sprint(soonest) + `
	)`

// claimTurns selects runs of which some are to be lent: of each tenant that may get any
// the first ones, as many as quota. Parameters: now, how many runs are wanted, how many a
// tenant may have, and the tenant that the last claim came to.
func (d Dialect) claimTurns() string {
	const served = `active AND leased < $3`
	bound := fmt.Sprint(`$2 + `, besides)
	return `WITH RECURSIVE ` + walk("ahead", "$4", "", "0", bound) + `, ` +
		walk("behind", "''", " AND t.id <= $4", "(SELECT count(*) FROM ahead WHERE "+served+")", bound) + `, ` + elapsedRuns + `, counted AS MATERIALIZED (
			SELECT tenant_id, leased FROM ahead WHERE ` + served + `
			UNION SELECT tenant_id, leased FROM behind WHERE ` + served + `
			UNION SELECT t.id, (SELECT count(*) FROM runs l WHERE l.tenant_id = t.id AND l.lease_until > $1)
			FROM (SELECT DISTINCT tenant_id FROM elapsed) e JOIN tenants t ON t.id = e.tenant_id WHERE t.status = 'active'
		), quota (n) AS (SELECT 1 + 2 * $2 / (1 + count(*)) FROM counted)
		SELECT tenant_id, id, leased, (SELECT n FROM quota) AS quota, (SELECT count(*) FROM elapsed) AS elapsed
		FROM (` + d.foremostRuns("(SELECT n FROM quota)") + `) AS foremost
		ORDER BY CASE WHEN tenant_id > $4 THEN 0 ELSE 1 END, tenant_id, free_at, id`
}

// furtherRuns are the first runs of some tenants. Parameters: now, how many of each, and
// the tenants as [Dialect.Rows].
func (d Dialect) furtherRuns() string {
	tenants := strings.Replace(d.Rows(Column{Name: "tenant_id"}, Column{Name: "leased"}), "$1", "$3", 1)
	return `WITH ` + elapsedRuns + `, counted AS MATERIALIZED (SELECT r.tenant_id, r.leased FROM ` + tenants + `)
		SELECT tenant_id, id FROM (` + d.foremostRuns("$2") + `) AS foremost ORDER BY tenant_id, free_at, id`
}

// foremostRuns selects, for each row of counted, the first runs that are free: as many as
// are asked for of those that take turns, and those of which the time has come. CROSS JOIN
// keeps SQLite from beginning with the runs.
func (d Dialect) foremostRuns(limit string) string {
	ready := ` FROM runs f WHERE f.tenant_id = c.tenant_id AND ` + takesTurns + ` ORDER BY f.ready_at, f.id LIMIT ` + limit
	of := `counted c CROSS JOIN runs r WHERE r.tenant_id = c.tenant_id AND r.id IN (SELECT f.id` + ready + `)`
	if d.Lateral {
		of = `counted c CROSS JOIN LATERAL (SELECT f.tenant_id, f.id, f.free_at` + ready + `) AS r`
	}
	const columns = `SELECT r.tenant_id, r.id, r.free_at, c.leased FROM `
	return columns + of + ` UNION ALL ` + columns + `elapsed r JOIN counted c ON c.tenant_id = r.tenant_id`
}

// freeRow is a run that may be lent.
type freeRow struct {
	Tenant  string `db:"tenant_id"`
	ID      string `db:"id"`
	Leased  int64  `db:"leased"`
	Quota   int64  `db:"quota"`
	Elapsed int64  `db:"elapsed"`
}

// runTurns are the free runs of tenants that a claim has looked at.
type runTurns struct {
	owners []*ownerTurns // in the order of the ring, beginning behind who came last
	places map[string]*ownerTurns
}

type ownerTurns struct {
	tenant string
	leased int
	free   []string // the first of its runs, in order
	more   bool     // there may be others
}

// runTurnsOf reads rows in the order of the ring.
func runTurnsOf(rows []freeRow) *runTurns {
	t := &runTurns{places: make(map[string]*ownerTurns)}
	for _, row := range rows {
		o := t.places[row.Tenant]
		if o == nil {
			o = &ownerTurns{tenant: row.Tenant, leased: int(row.Leased)}
			t.places[row.Tenant], t.owners = o, append(t.owners, o)
		}
		o.free = append(o.free, row.ID)
		o.more = int64(len(o.free)) >= row.Quota
	}
	return t
}

// chosen are the runs to lend, in the order of their turns: the first run of each tenant
// comes before the second of any, those that are leased counted in.
func (t *runTurns) chosen(limit, perTenant int) []keyRow {
	type place struct {
		turn int
		key  keyRow
	}
	var all []place
	for _, o := range t.owners {
		for i, id := range o.free {
			if turn := o.leased + i; turn < perTenant {
				all = append(all, place{turn, keyRow{o.tenant, id}})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return a.turn - b.turn })
	all = all[:min(limit, len(all))]
	keys := make([]keyRow, len(all))
	for i, p := range all {
		keys[i] = p.key
	}
	return keys
}

// short are the tenants that could fill places that are left, and how many of the runs
// of each have to be known for that.
func (t *runTurns) short(limit, perTenant int) (tenants []string, quota int) {
	left := limit - len(t.chosen(limit, perTenant))
	if left <= 0 {
		return nil, 0
	}
	for _, o := range t.owners {
		if o.more && o.leased+len(o.free) < perTenant {
			tenants = append(tenants, o.tenant)
			quota = max(quota, len(o.free))
		}
	}
	if len(tenants) == 0 {
		return nil, 0
	}
	return tenants, quota + 1 + 2*left/len(tenants)
}

// next is the tenant behind whom the next claim begins, when this one takes some runs.
// Where it has looked at all tenants, that is who came last. Else it is as many tenants
// on as this one wanted runs, for then every tenant comes to be among the first of a claim
// after as many claims as there are tenants for each of its runs: there it gets one,
// unless it has some already and others have fewer.
func (t *runTurns) next(limit int, chosen []keyRow) string {
	if len(t.owners) < limit+besides {
		return chosen[len(chosen)-1].Tenant
	}
	return t.owners[limit-1].tenant
}

// turns looks for runs to lend. crowded says that more have to be let in than it saw.
func (s runQueue) turns(ctx context.Context, now time.Time, limit, perTenant int) (t *runTurns, crowded bool, err error) {
	var rows []freeRow
	if err := s.list(ctx, "find runs to lend", &rows, s.store.runs.turns, now, limit, perTenant, s.store.runs.lastServed()); err != nil {
		return nil, false, err
	}
	t = runTurnsOf(rows)
	for {
		tenants, quota := t.short(limit, perTenant)
		if len(tenants) == 0 {
			return t, len(rows) == 0 || rows[0].Elapsed >= soonest, nil
		}
		if err := s.further(ctx, t, now, tenants, quota); err != nil {
			return nil, false, err
		}
	}
}

// further looks for more runs of some tenants.
func (s runQueue) further(ctx context.Context, t *runTurns, now time.Time, tenants []string, quota int) error {
	type tenantRow struct {
		Tenant string `json:"tenant_id"`
		Leased int    `json:"leased"`
	}
	of := make([]tenantRow, len(tenants))
	for i, id := range tenants {
		of[i] = tenantRow{id, t.places[id].leased}
		t.places[id].free = nil
	}
	text, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("encode tenants: %w", err)
	}
	var rows []freeRow
	if err := s.list(ctx, "find more runs to lend", &rows, s.store.runs.further, now, quota, string(text)); err != nil {
		return err
	}
	for _, row := range rows {
		o := t.places[row.Tenant]
		o.free = append(o.free, row.ID)
	}
	for _, id := range tenants {
		o := t.places[id]
		o.more = len(o.free) >= quota
	}
	return nil
}

// letIn lets runs whose time has come take turns. One that somebody is changing is left
// out.
func (d Dialect) letIn() string {
	held := ""
	if d.ForUpdate != "" {
		held = d.ForUpdate + " SKIP LOCKED"
	}
	return `WITH elapsed AS MATERIALIZED (
			SELECT f.tenant_id, f.id FROM runs f WHERE ` + isTimed + ` AND f.free_at <= $1 ORDER BY f.free_at, f.tenant_id, f.id LIMIT ` + fmt.Sprint(letIn) + held + `
		) UPDATE runs SET ready_at = free_at FROM elapsed e WHERE runs.tenant_id = e.tenant_id AND runs.id = e.id`
}
