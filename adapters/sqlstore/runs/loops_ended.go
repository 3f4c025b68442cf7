package runs

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Ended finds out how large the runs are, and then reads those that fit, without the payload and
// what else they share.
func (s loops) Ended(ctx context.Context, q outbound.EndedItems) ([]run.Outcome, error) {
	statuses := `'completed', 'failed', 'cancelled'`
	if q.Failed {
		statuses = `'failed', 'cancelled'`
	}
	keys, err := s.ended(ctx, q, statuses)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	rows, err := s.scan(ctx, "read items that have ended", s.store.dialect.readEach(itemColumns, table), parameter)
	if err != nil {
		return nil, err
	}
	outcomes := make([]run.Outcome, len(rows))
	for i := range rows {
		r, err := rows[i].restore()
		if err != nil {
			return nil, err
		}
		outcomes[i] = r.Outcome()
	}
	slices.SortFunc(outcomes, func(a, b run.Outcome) int { return cmp.Compare(a.Index, b.Index) })
	return outcomes, nil
}

// ended finds the runs of items that have ended, as many as are wanted.
func (s loops) ended(ctx context.Context, q outbound.EndedItems, statuses string) (keys []core.KeyRow, err error) {
	var of []loopRow
	err = s.ReadRows(ctx, "read a loop", &of, `SELECT `+loopColumns+` FROM run_loops l WHERE l.tenant_id = $1 AND l.run_id = $2 AND l.node_id = $3`,
		string(q.Loop.Tenant), string(q.Loop.Run), string(q.Loop.Node))
	if err != nil || len(of) == 0 {
		return nil, err
	}
	size := int64(0)
	for from := q.From; from < of[0].Count && len(keys) < q.Limit; from += maxLook {
		table, parameter, err := s.items(&of[0], from, maxLook)
		if err != nil {
			return nil, err
		}
		var found []struct {
			Run  string `db:"id"`
			Size int64  `db:"size"`
		}
		err = s.ReadRows(ctx, "find items that have ended", &found, endedItems(table, statuses), parameter, q.Limit-len(keys))
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			if len(keys) > 0 && size > q.Bytes {
				return keys, nil
			}
			size += row.Size
			keys = append(keys, core.KeyRow{Tenant: of[0].Tenant, ID: row.Run})
		}
	}
	return keys, nil
}

// endedItems is the statement that finds runs of items that have ended with one of some statuses.
func endedItems(table, statuses string) string {
	return `SELECT r.id, octet_length(u.progress) + u.outputs + u.item_size AS size FROM ` + table + ` CROSS JOIN runs u
		WHERE u.tenant_id = r.tenant_id AND u.id = r.id AND (u.status IN (` + statuses + `)) IS TRUE ORDER BY CAST(r.idx AS integer) LIMIT $2`
}
