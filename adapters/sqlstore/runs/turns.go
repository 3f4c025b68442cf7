package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// What the statements of a claim have as numbers: see runs_turns.sql.
const (
	extraTenants = 16  // are looked at in addition to as many as runs are wanted
	maxElapsed   = 256 // runs whose time has come are looked at; when there are more, some are promoted
)

// freeRow is a run that may be leased.
type freeRow struct {
	Tenant  string `db:"tenant_id"`
	ID      string `db:"id"`
	Leased  int64  `db:"leased"`
	Quota   int64  `db:"quota"`
	Elapsed int64  `db:"elapsed"`
}

// turns are the free runs of tenants that a claim has looked at.
type turns struct {
	owners []*ownerTurns // in the order of the ring, beginning behind who came last
	places map[string]*ownerTurns
}

type ownerTurns struct {
	tenant string
	leased int
	free   []string // the first of its runs, in order
	more   bool     // there may be others
}

// turnsOf reads rows in the order of the ring.
func turnsOf(rows []freeRow) *turns {
	t := &turns{places: make(map[string]*ownerTurns)}
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

// chosen are the runs to lease, in the order of their turns: the first run of each tenant
// comes before the second of any, those that are leased counted in.
func (t *turns) chosen(limit, perTenant int) []core.KeyRow {
	type place struct {
		turn int
		key  core.KeyRow
	}
	var all []place
	for _, o := range t.owners {
		for i, id := range o.free {
			if turn := o.leased + i; turn < perTenant {
				all = append(all, place{turn, core.KeyRow{Tenant: o.tenant, ID: id}})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return a.turn - b.turn })
	all = all[:min(limit, len(all))]
	keys := make([]core.KeyRow, len(all))
	for i, p := range all {
		keys[i] = p.key
	}
	return keys
}

// short are the tenants that could fill places that are left, and how many of the runs
// of each have to be known for that.
func (t *turns) short(limit, perTenant int) (tenants []string, quota int) {
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
func (t *turns) next(limit int, chosen []core.KeyRow) string {
	if len(t.owners) < limit+extraTenants {
		return chosen[len(chosen)-1].Tenant
	}
	return t.owners[limit-1].tenant
}

// turns looks for runs to lease. crowded says that there are more whose time has come than it
// looked at.
func (s queue) turns(ctx context.Context, now time.Time, limit, perTenant int) (t *turns, crowded bool, err error) {
	var rows []freeRow
	if err := s.ReadRows(ctx, "find runs to lease", &rows, s.store.dialect.Turns, now, limit, perTenant, s.store.lastServed(), int(s.Level()), s.store.ServesTemporal); err != nil {
		return nil, false, err
	}
	t = turnsOf(rows)
	for {
		tenants, quota := t.short(limit, perTenant)
		if len(tenants) == 0 {
			return t, len(rows) == 0 || rows[0].Elapsed >= maxElapsed, nil
		}
		if err := s.more(ctx, t, now, tenants, quota); err != nil {
			return nil, false, err
		}
	}
}

// more looks for more runs of some tenants.
func (s queue) more(ctx context.Context, t *turns, now time.Time, tenants []string, quota int) error {
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
	if err := s.ReadRows(ctx, "find more runs to lease", &rows, s.store.dialect.More, now, quota, string(text), int(s.Level()), s.store.ServesTemporal); err != nil {
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
