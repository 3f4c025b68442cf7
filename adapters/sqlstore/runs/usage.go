package runs

import (
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// startedRow is a run that was added, and when it was by the database.
type startedRow struct {
	ID        string       `db:"id"`
	CreatedAt core.Instant `db:"created_at"`
}

// countStarted counts runs that were added.
func (s repository) countStarted(rows []newRunRow, made []startedRow) {
	days := make(map[string]usage.Day, len(made))
	for _, one := range made {
		days[one.ID] = usage.DayOf(one.CreatedAt.Time)
	}
	for i := range rows {
		row := &rows[i]
		day, added := days[row.ID]
		if !added {
			continue
		}
		c := usage.Counts{Started: 1}
		if row.Parent != "" {
			c.Children = 1
		}
		s.CountUsage(tenant.ID(row.Tenant), day, c)
	}
}

// countHistory counts what a history says from now on. Recounting reads the same entries.
func (s repository) countHistory(owner tenant.ID, history []run.Entry) {
	for i := range history {
		s.CountUsage(owner, usage.DayOf(history[i].At), usageOf(history[i].Type))
	}
}

// usageOf is what an entry of a history counts for.
func usageOf(t run.EntryType) (c usage.Counts) {
	switch t { //nolint:exhaustive // the others are not counted
	case run.EntryNodeStarted:
		c.NodeAttempts = 1
	case run.EntryRunCompleted:
		c.Completed = 1
	case run.EntryRunFailed:
		c.Failed = 1
	case run.EntryRunCancelled:
		c.Cancelled = 1
	}
	return c
}
