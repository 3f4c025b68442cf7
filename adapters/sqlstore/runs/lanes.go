package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// lanes are locked before any run in them: by who starts runs, and by who records that some ended.
type lanes struct{ repository }

var _ outbound.RunLanes = lanes{}

// Enter locks the lanes, and reads them one by one.
func (s lanes) Enter(ctx context.Context, owner tenant.ID, names ...string) ([]outbound.LaneState, error) {
	if !s.InTransaction() || !s.Writes() {
		return nil, s.Fail(errUnit)
	}
	keys := make([]core.KeyRow, len(names))
	for i, name := range names {
		keys[i] = core.KeyRow{Tenant: string(owner), ID: name}
	}
	if err := s.lock(ctx, keys); err != nil {
		return nil, err
	}
	states := make([]outbound.LaneState, len(names))
	for i, key := range keys {
		var found []struct {
			ID   run.ID `db:"id"`
			Held bool   `db:"held"`
		}
		err := s.ReadRows(ctx, "look into a lane", &found, `SELECT id, held FROM live_runs WHERE tenant_id = $1 AND lane = $2 AND lane <> ''
			ORDER BY held, lane_seq, id LIMIT $3`, key.Tenant, key.ID, outbound.MaxLane)
		if err != nil {
			return nil, s.Fail(err)
		}
		for _, one := range found {
			if states[i].Runs = append(states[i].Runs, one.ID); !one.Held {
				states[i].Live++
			}
		}
	}
	return states, nil
}

// Hold locks the lanes of runs, and then their families.
func (s lanes) Hold(ctx context.Context, owner tenant.ID, runs ...run.ID) error {
	if !s.InTransaction() || !s.Writes() {
		return s.Fail(errUnit)
	}
	if s.store.dialect.LockLanes == "" || len(runs) == 0 {
		return nil
	}
	keys := make([]core.KeyRow, len(runs))
	for i, id := range runs {
		keys[i] = core.KeyRow{Tenant: string(owner), ID: string(id)}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return s.Fail(err)
	}
	var names []string
	err = s.ReadRows(ctx, "find lanes", &names, `SELECT DISTINCT u.lane FROM live_runs u JOIN `+table+` ON u.tenant_id = r.tenant_id AND u.id = r.id WHERE u.lane <> ''`, parameter)
	if err != nil {
		return s.Fail(err)
	}
	held := make([]kinRow, 0, 3*len(keys))
	for _, key := range keys {
		held = append(held, kinRow{key, itself}, kinRow{key, parent}, kinRow{key, children})
	}
	keys = keys[:0]
	for _, name := range names {
		keys = append(keys, core.KeyRow{Tenant: string(owner), ID: name})
	}
	if err := s.lock(ctx, keys); err != nil {
		return err
	}
	return s.holdLive(ctx, held)
}

// lanesOf are the lanes of runs.
func lanesOf(all []*run.Run) (keys []core.KeyRow) {
	for _, r := range all {
		if lane := r.Lane(); lane.Bounds() {
			keys = append(keys, core.KeyRow{Tenant: string(r.Tenant()), ID: lane.Name})
		}
	}
	return keys
}

// lanesLeft are the lanes of the runs that ended with a step.
func lanesLeft(steps []outbound.RunStep) []core.KeyRow {
	var ended []*run.Run
	for _, step := range steps {
		if step.Run.Status().Finished() {
			ended = append(ended, step.Run)
		}
	}
	return lanesOf(ended)
}

// laneSeparator stands between a tenant and a lane of it in what is locked.
const laneSeparator = "/"

// lock keeps others out of lanes until the unit ends, in one order for all units.
func (s repository) lock(ctx context.Context, keys []core.KeyRow) error {
	lock := s.store.dialect.LockLanes
	if len(keys) == 0 || lock == "" {
		return nil
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Tenant + laneSeparator + key.ID
	}
	slices.Sort(names)
	text, err := json.Marshal(slices.Compact(names))
	if err != nil {
		return s.Fail(fmt.Errorf("encode lanes: %w", err))
	}
	var locked int
	if err = s.ReadRow(ctx, "lock lanes", &locked, lock, string(text)); err != nil {
		return s.Fail(err)
	}
	return nil
}

// ofLane are the rows of the lane $2, one part of them, in its order: each is a range of an index.
func ofLane(table, held string) string {
	return fmt.Sprintf(`live_runs %[1]s WHERE %[1]s.tenant_id = $1 AND %[1]s.lane = $2 AND %[1]s.lane <> '' AND %[1]s.held = %[2]s`, table, held)
}

// letGo lets the first of the runs that are held go where there is room for them. How much there
// is, the run says that came last: its trigger may have been changed.
func (d dialect) letGo() string {
	limit := `(SELECT n.lane_limit FROM ` + ofLane("n", "true") + ` ORDER BY n.lane_seq DESC LIMIT 1)`
	return `UPDATE live_runs SET held = false, due_at = c.now, ready_at = c.now FROM (SELECT ` + d.Clock + ` AS now) AS c
		WHERE live_runs.tenant_id = $1 AND live_runs.id ` + d.AmongFirst(`SELECT w.id FROM (
				SELECT h.id, row_number() OVER (ORDER BY h.lane_seq) AS place FROM `+ofLane("h", "true")+` ORDER BY h.lane_seq LIMIT coalesce(`+limit+`, 0)
			) AS w
			WHERE w.place + (SELECT count(*) FROM `+ofLane("b", "false")+`) <= `+limit) + `
	`
}

// letGo does so for each of some lanes, which are locked.
func (s repository) letGo(ctx context.Context, keys []core.KeyRow) error {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b core.KeyRow) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID)) })
	for _, key := range slices.Compact(keys) {
		n, err := s.Exec(ctx, "let runs go", s.store.letGo, key.Tenant, key.ID)
		if err != nil {
			return err
		}
		s.store.liveRunsChanged(int(n))
	}
	return nil
}
