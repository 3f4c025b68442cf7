package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// readLeased reads what was leased, in a statement of its own: the one that leases sees of runs
// only what was there when it began. What several of them share is read once, and stands in all of them.
func (s queue) readLeased(ctx context.Context, leased []leasedRow) (map[core.KeyRow]*runRow, error) {
	if len(leased) == 0 {
		return nil, nil
	}
	keys := make([]core.KeyRow, len(leased))
	for i, row := range leased {
		keys[i] = core.KeyRow{Tenant: row.Tenant, ID: row.ID}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	var rows []runRow
	err = s.EachRow(ctx, "read leased runs", func(found *sql.Rows) error {
		rows = append(rows, runRow{})
		row := &rows[len(rows)-1]
		return found.Scan(append(row.Targets(), &row.SharedPayload)...)
	}, s.store.dialect.readEach(leasedColumns, table), parameter)
	if err != nil {
		return nil, err
	}
	if err = s.addPayloads(ctx, rows); err != nil {
		return nil, err
	}
	if err = s.addOuter(ctx, rows); err != nil {
		return nil, err
	}
	if err = s.readOutputs(ctx, rows); err != nil {
		return nil, err
	}
	found := make(map[core.KeyRow]*runRow, len(rows))
	for i := range rows {
		found[core.KeyRow{Tenant: rows[i].Tenant, ID: rows[i].ID}] = &rows[i]
	}
	return found, nil
}

// readEach reads the runs whose keys are in a table named r.
func (d dialect) readEach(columns, table string) string {
	return `SELECT r.* FROM (SELECT r.tenant_id AS owner, r.id AS run FROM ` + table + `) AS p ` + d.RunsOf(columns)
}

// addPayloads adds the payloads that runs share. One that is gone is none.
func (s queue) addPayloads(ctx context.Context, rows []runRow) error {
	of := make(map[core.KeyRow][]*runRow)
	var keys []core.KeyRow
	for i := range rows {
		row := &rows[i]
		if row.SharedPayload == nil || row.isLarge() {
			continue
		}
		row.Payload = nil
		key := core.KeyRow{Tenant: row.Tenant, ID: *row.SharedPayload}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], row)
	}
	if len(keys) == 0 {
		return nil
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return err
	}
	return s.EachRow(ctx, "read shared payloads", func(found *sql.Rows) error {
		var key core.KeyRow
		var payload []byte
		if err := found.Scan(&key.Tenant, &key.ID, &payload); err != nil {
			return err
		}
		for _, row := range of[key] {
			row.Payload = payload
		}
		return nil
	}, `SELECT p.tenant_id, p.id, p.payload FROM `+table+` CROSS JOIN run_payloads p WHERE p.tenant_id = r.tenant_id AND p.id = r.id`, parameter)
}

// addOuter adds what the runs of items see of the nodes around their body.
func (s queue) addOuter(ctx context.Context, rows []runRow) error {
	of := make(map[loopRow][]*runRow)
	var keys []loopRow
	for i := range rows {
		row := &rows[i]
		if row.Index == nil || row.isLarge() {
			continue
		}
		key := loopRow{Tenant: row.Tenant, Run: row.Parent, Node: row.ParentNode}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], row)
	}
	if len(keys) == 0 {
		return nil
	}
	parameter, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("encode loops: %w", err)
	}
	return s.EachRow(ctx, "read what items see of other nodes", func(found *sql.Rows) error {
		var key loopRow
		var outer []byte
		if err := found.Scan(&key.Tenant, &key.Run, &key.Node, &outer); err != nil {
			return err
		}
		for _, row := range of[key] {
			row.Outer = outer
		}
		return nil
	}, `SELECT i.tenant_id, i.run_id, i.node_id, i.items ->> 0 FROM `+s.store.dialect.Rows(1, loopKeyColumns...)+` CROSS JOIN run_items i
		WHERE i.tenant_id = r.tenant_id AND i.run_id = r.run_id AND i.node_id = r.node_id AND i.idx = -1`, string(parameter))
}
