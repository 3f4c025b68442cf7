package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

type usageLog struct{ *unit }

var _ outbound.UsageLog = usageLog{}

type usageFolding struct{ *unit }

var _ outbound.UsageFolding = usageFolding{}

// Add counts for a tenant.
func (s usageLog) Add(_ context.Context, owner tenant.ID, day usage.Day, c usage.Counts) error {
	s.CountUsage(owner, day, c)
	return s.FirstFailure()
}

// sumOfUsage selects the sums of all counts of a table.
var sumOfUsage = func() string {
	sums := make([]string, len(usage.Names()))
	for i, name := range usage.Names() {
		sums[i] = "CAST(coalesce(sum(" + name + "), 0) AS bigint) AS " + name
	}
	return strings.Join(sums, ", ")
}()

// ofTenant is a table of all counts of a tenant, $1, that a condition holds for.
func usageOfTenant(condition string) string {
	columns := "day, removed, " + core.UsageColumns
	return `(SELECT ` + columns + ` FROM usage_days WHERE tenant_id = $1` + condition + ` UNION ALL SELECT ` + columns + ` FROM usage_deltas WHERE tenant_id = $1` + condition + `) AS counted`
}

// targets are where the counts of a row go.
func targets(c *usage.Counts, before ...any) []any {
	for _, field := range c.Fields() {
		before = append(before, field)
	}
	return before
}

// Days reads days.
func (s usageLog) Days(ctx context.Context, owner tenant.ID, from, to usage.Day) ([]usage.Daily, error) {
	all := make(map[usage.Day]*usage.Daily)
	of := func(day string) *usage.Daily {
		d := usage.Day(day)
		if all[d] == nil {
			all[d] = &usage.Daily{Day: d}
		}
		return all[d]
	}
	err := s.EachRow(ctx, "read usage", func(rows *sql.Rows) error {
		var day string
		var c usage.Counts
		if err := rows.Scan(targets(&c, &day)...); err != nil {
			return err
		}
		of(day).Counts = c
		return nil
	}, `SELECT day, `+sumOfUsage+` FROM `+usageOfTenant(` AND day >= $2 AND day < $3 AND NOT removed`)+` GROUP BY day`, string(owner), string(from), string(to))
	if err != nil {
		return nil, err
	}
	err = s.EachRow(ctx, "read what was kept", func(rows *sql.Rows) error {
		var day string
		var bytes int64
		if err := rows.Scan(&day, &bytes); err != nil {
			return err
		}
		of(day).BytesKept = &bytes
		return nil
	}, `SELECT day, bytes FROM usage_storage WHERE tenant_id = $1 AND day < $3
		AND day >= coalesce((SELECT max(b.day) FROM usage_storage b WHERE b.tenant_id = $1 AND b.day < $2), $2)`, string(owner), string(from), string(to))
	days := make([]usage.Daily, 0, len(all))
	for _, day := range slices.Sorted(maps.Keys(all)) {
		days = append(days, *all[day])
	}
	return days, err
}

// Kept adds up what is kept.
func (s usageLog) Kept(ctx context.Context, owner tenant.ID) (kept int64, err error) {
	err = s.ReadRow(ctx, "add up kept bytes", &kept, `SELECT `+storedBytes, string(owner))
	return kept, err
}

// Waiting looks for anything that was appended.
func (s usageFolding) Waiting(ctx context.Context) (waits bool, err error) {
	err = s.ReadRow(ctx, "look for usage to fold", &waits, `SELECT EXISTS (SELECT 1 FROM usage_deltas)`)
	return waits, err
}

// Hold takes the turn.
func (s usageFolding) Hold(ctx context.Context) (notedAt time.Time, ok bool, err error) {
	var rows []core.Instant
	err = s.ReadRows(ctx, "take the turn to fold usage", &rows, `SELECT stored_at FROM usage_turn`+s.store.dialect.ClaimRows)
	if err != nil || len(rows) == 0 {
		return notedAt, false, err
	}
	return rows[0].UTC(), true, nil
}

type foldKey struct {
	tenant  tenant.ID
	day     usage.Day
	removed bool
}

// Fold moves counts from where they are appended to their days. Those of a tenant that is being deleted stay for later, since
// its deletion may take minutes, and others' counts must not wait for it; those of one that is gone go.
func (s usageFolding) Fold(ctx context.Context, limit int) (n int, of []tenant.ID, err error) {
	sums := make(map[foldKey]*usage.Counts)
	err = s.EachRow(ctx, "take appended usage", func(rows *sql.Rows) error {
		var key foldKey
		var c usage.Counts
		if err := rows.Scan(targets(&c, &key.tenant, &key.day, &key.removed)...); err != nil {
			return err
		}
		if sums[key] == nil {
			sums[key] = new(usage.Counts)
		}
		sums[key].Add(c)
		n++
		return nil
	}, `WITH held AS MATERIALIZED (SELECT t.id FROM tenants t WHERE t.id IN (SELECT tenant_id FROM usage_deltas)`+s.store.dialect.KeepRows+`)
		DELETE FROM usage_deltas WHERE (tenant_id, id) IN (SELECT d.tenant_id, d.id FROM usage_deltas d
			WHERE d.tenant_id IN (SELECT id FROM held) OR NOT EXISTS (SELECT 1 FROM tenants g WHERE g.id = d.tenant_id) ORDER BY d.tenant_id, d.id LIMIT $1)
		RETURNING tenant_id, day, removed, `+core.UsageColumns, limit)
	if err != nil || n == 0 {
		return 0, nil, s.failed(err)
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b foldKey) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.day, b.day))
	})
	rows := make([]map[string]any, len(keys))
	for i, key := range keys {
		of = append(of, key.tenant)
		rows[i] = core.UsageRow(key.tenant, key.day, key.removed, *sums[key])
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return 0, nil, s.Fail(fmt.Errorf("encode usage: %w", err))
	}
	table, selected := s.store.dialect.UsageRows(1)
	added := make([]string, len(usage.Names()))
	for i, name := range usage.Names() {
		added[i] = name + " = usage_days." + name + " + excluded." + name
	}
	_, err = s.Exec(ctx, "fold usage", `INSERT INTO usage_days (tenant_id, day, removed, `+core.UsageColumns+`) SELECT `+selected+` FROM `+table+`
		JOIN tenants t ON t.id = r.tenant_id WHERE true ON CONFLICT (tenant_id, day, removed) DO UPDATE SET `+strings.Join(added, ", "), string(text))
	return n, slices.Compact(of), err
}

// failed keeps the unit from committing where there is an error.
func (s usageFolding) failed(err error) error {
	if err != nil {
		return s.Fail(err)
	}
	return nil
}

// NoteKept writes what is kept where that has changed, except of tenants that are being deleted.
func (s usageFolding) NoteKept(ctx context.Context, day usage.Day, at time.Time) error {
	_, err := s.Exec(ctx, "note what is kept", `WITH kept AS (SELECT tenant_id, CAST(sum(bytes) AS bigint) AS bytes FROM tenant_storage GROUP BY tenant_id),
		changed AS MATERIALIZED (SELECT k.tenant_id, k.bytes FROM kept k LEFT JOIN usage_storage u ON u.tenant_id = k.tenant_id AND u.day = $1
			WHERE u.bytes IS NULL OR u.bytes <> k.bytes)
		INSERT INTO usage_storage (tenant_id, day, bytes) SELECT t.id, $1, c.bytes FROM changed c JOIN tenants t ON t.id = c.tenant_id WHERE true`+s.store.dialect.KeepRows+`
		ON CONFLICT (tenant_id, day) DO UPDATE SET bytes = excluded.bytes`, string(day))
	if err == nil {
		_, err = s.Exec(ctx, "note when", `UPDATE usage_turn SET stored_at = $1`, at.UTC())
	}
	return err
}
