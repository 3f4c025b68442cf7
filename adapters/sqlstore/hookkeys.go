package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

type hookKeys struct{ *unit }

var _ outbound.HookKeys = hookKeys{}

// hookKeyRow is a row of [core.Dialect.Rows].
type hookKeyRow struct {
	Tenant string `json:"tenant_id" db:"tenant_id"`
	Key    string `json:"key" db:"key"`
	Run    string `json:"run_id" db:"run_id"`
}

var hookKeyColumns = []core.Column{{Name: "tenant_id"}, {Name: "key"}, {Name: "run_id"}}

// errHookKeyGone is met where a key ends between two statements of a unit.
var errHookKeyGone = errors.New("the key of a delivery was released and taken over")

// Take takes keys in their order, so that two units never wait for each other.
func (s hookKeys) Take(ctx context.Context, keys []outbound.HookKey, now time.Time) ([]run.ID, error) {
	if err := s.FirstFailure(); err != nil || len(keys) == 0 {
		return nil, err
	}
	rows := make([]hookKeyRow, len(keys))
	for i, k := range keys {
		rows[i] = hookKeyRow{string(k.Tenant), k.Key, string(k.Run)}
	}
	first := slices.Clone(rows)
	slices.SortStableFunc(first, func(a, b hookKeyRow) int { return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Key, b.Key)) })
	first = slices.CompactFunc(first, func(a, b hookKeyRow) bool { return a.Tenant == b.Tenant && a.Key == b.Key })
	text, err := json.Marshal(first)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode keys of deliveries: %w", err))
	}
	table := s.store.dialect.Rows(1, hookKeyColumns...)
	var taken []hookKeyRow
	err = s.ReadRows(ctx, "take keys of deliveries", &taken, `INSERT INTO hook_keys (tenant_id, key, run_id, taken_at) SELECT r.tenant_id, r.key, r.run_id, $2 FROM `+table+` WHERE true
		ON CONFLICT (tenant_id, key) DO UPDATE SET run_id = excluded.run_id, taken_at = excluded.taken_at WHERE hook_keys.taken_at <= $3 RETURNING tenant_id, key, run_id`,
		string(text), now, now.Add(-hook.KeyRetention))
	if err != nil {
		return nil, s.Fail(err)
	}
	if len(taken) < len(first) {
		var held []hookKeyRow
		err = s.ReadRows(ctx, "find the runs of keys", &held, `SELECT k.tenant_id, k.key, k.run_id FROM `+table+` JOIN hook_keys k ON k.tenant_id = r.tenant_id AND k.key = r.key`, string(text))
		if err != nil {
			return nil, s.Fail(err)
		}
		taken = held
	}
	return s.holders(rows, taken)
}

// holders says which runs others have, in the order of the rows.
func (s hookKeys) holders(rows, held []hookKeyRow) ([]run.ID, error) {
	of := make(map[[2]string]string, len(held))
	for _, row := range held {
		of[[2]string{row.Tenant, row.Key}] = row.Run
	}
	holders := make([]run.ID, len(rows))
	for i, row := range rows {
		holder, ok := of[[2]string{row.Tenant, row.Key}]
		if !ok {
			return nil, s.Fail(&core.Collision{Cause: errHookKeyGone})
		}
		if holder != row.Run {
			holders[i] = run.ID(holder)
		}
	}
	return holders, nil
}

// Holder reads the run of one key.
func (s hookKeys) Holder(ctx context.Context, key outbound.HookKey, now time.Time) (run.ID, error) {
	var id string
	err := s.ReadRow(ctx, "find the run of a key", &id, `SELECT run_id FROM hook_keys WHERE tenant_id = $1 AND key = $2 AND taken_at > $3`, string(key.Tenant), key.Key, now.Add(-hook.KeyRetention))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return run.ID(id), err
}

// Release removes a key.
func (s hookKeys) Release(ctx context.Context, key outbound.HookKey) error {
	_, err := s.Exec(ctx, "release the key of a delivery", `DELETE FROM hook_keys WHERE tenant_id = $1 AND key = $2 AND run_id = $3`, string(key.Tenant), key.Key, string(key.Run))
	return err
}

// Sweep removes old keys.
func (s hookKeys) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep keys of deliveries", `DELETE FROM hook_keys WHERE (tenant_id, key) IN (SELECT tenant_id, key FROM hook_keys WHERE taken_at < $1 ORDER BY taken_at LIMIT $2)`, before, limit)
	return int(n), err
}
