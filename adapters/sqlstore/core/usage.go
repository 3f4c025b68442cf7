package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// usageKey is what the counts of a unit are about.
type usageKey struct {
	tenant  tenant.ID
	day     usage.Day
	removed bool
}

// CountUsage counts what the unit does for a tenant on a day. It is written before the unit commits.
func (u *Unit) CountUsage(owner tenant.ID, day usage.Day, c usage.Counts) {
	u.count(usageKey{owner, day, false}, c)
}

// CountRemoved counts what records of a tenant do not say any more from the unit on.
func (u *Unit) CountRemoved(owner tenant.ID, day usage.Day, c usage.Counts) {
	u.count(usageKey{owner, day, true}, c)
}

func (u *Unit) count(key usageKey, c usage.Counts) {
	if c == (usage.Counts{}) {
		return
	}
	if u.used == nil {
		u.used = make(map[usageKey]*usage.Counts)
	}
	if u.used[key] == nil {
		u.used[key] = new(usage.Counts)
	}
	u.used[key].Add(c)
}

// UsageColumns are the columns of what is counted.
var UsageColumns = strings.Join(usage.Names(), ", ")

// UsageRows is a table named r with rows of what is counted, of the parameter of a number, and what to select of it.
func (d *Dialect) UsageRows(parameter int) (table, selected string) {
	columns, values := []Column{{Name: "tenant_id"}, {Name: "day"}, {Name: "removed"}}, []string{"r.tenant_id", "r.day", "CAST(r.removed AS boolean)"}
	for _, name := range usage.Names() {
		columns, values = append(columns, Column{Name: name}), append(values, "CAST(coalesce(r."+name+", '0') AS bigint)")
	}
	return d.Rows(parameter, columns...), strings.Join(values, ", ")
}

// UsageRow is a row of [Dialect.UsageRows].
func UsageRow(owner tenant.ID, day usage.Day, removed bool, c usage.Counts) map[string]any {
	row := map[string]any{"tenant_id": string(owner), "day": string(day), "removed": removed}
	for i, n := range c.Fields() {
		if *n != 0 {
			row[usage.Names()[i]] = *n
		}
	}
	return row
}

// writeUsage appends what the unit has counted. No two units write the same row.
func (u *Unit) writeUsage(ctx context.Context) error {
	if len(u.used) == 0 {
		return nil
	}
	rows := make([]map[string]any, 0, len(u.used))
	for key, c := range u.used {
		rows = append(rows, UsageRow(key.tenant, key.day, key.removed, *c))
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	_, err = u.Exec(ctx, "count usage", u.store.appendUsage, string(text))
	return err
}

// appendUsage is the statement for it.
func (d *Dialect) appendUsage() string {
	table, selected := d.UsageRows(1)
	return `INSERT INTO usage_deltas (tenant_id, day, removed, ` + UsageColumns + `) SELECT ` + selected + ` FROM ` + table
}
