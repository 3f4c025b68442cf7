package sqlstore

import (
	"context"
	"database/sql"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

type usageRecount struct{ *unit }

var _ outbound.UsageRecount = usageRecount{}

// Since reads when counting began.
func (s usageRecount) Since(ctx context.Context) (since usage.Day, err error) {
	err = s.ReadRow(ctx, "read since when usage is counted", &since, `SELECT since FROM usage_turn`)
	return since, err
}

// Counted reads what was counted, less what was removed.
func (s usageRecount) Counted(ctx context.Context, owner tenant.ID) (map[usage.Day]usage.Counts, error) {
	all := make(map[usage.Day]usage.Counts)
	err := s.EachRow(ctx, "read usage", func(rows *sql.Rows) error {
		var day usage.Day
		var removed bool
		var c usage.Counts
		if err := rows.Scan(targets(&c, &day, &removed)...); err != nil {
			return err
		}
		if removed {
			for _, n := range c.Fields() {
				*n = -*n
			}
		}
		c.Add(all[day])
		all[day] = c
		return nil
	}, `SELECT day, removed, `+sumOfUsage+` FROM `+usageOfTenant("")+` GROUP BY day, removed`, string(owner))
	return all, err
}

// recounted are the statements that recount, each with a day, a kind and a number, and what those kinds count as.
func (s usageRecount) recounted() map[string]func(kind string, n int64) usage.Counts {
	day := s.store.dialect.Day
	return map[string]func(string, int64) usage.Counts{
		`SELECT ` + day("created_at") + `, CASE WHEN parent_run_id = '' THEN '' ELSE 'child' END, count(*) FROM runs WHERE tenant_id = $1 GROUP BY 1, 2`: func(kind string, n int64) usage.Counts {
			if kind == "child" {
				return usage.Counts{Started: n, Children: n}
			}
			return usage.Counts{Started: n}
		},
		`SELECT day, type, count(*) FROM ` + s.store.dialect.HistoryOf + ` GROUP BY 1, 2`: func(kind string, n int64) (c usage.Counts) {
			switch run.EntryType(kind) { //nolint:exhaustive // the others are not counted
			case run.EntryNodeStarted:
				c.NodeAttempts = n
			case run.EntryRunCompleted:
				c.Completed = n
			case run.EntryRunFailed:
				c.Failed = n
			case run.EntryRunCancelled:
				c.Cancelled = n
			}
			return c
		},
		`SELECT ` + day("updated_at") + `, status, count(*) FROM webhook_deliveries WHERE tenant_id = $1 GROUP BY 1, 2`: func(kind string, n int64) (c usage.Counts) {
			switch event.Status(kind) {
			case event.Delivered:
				c.Delivered = n
			case event.Failed:
				c.DeliveriesFailed = n
			case event.Pending:
			}
			return c
		},
		`SELECT ` + day("received_at") + `, CASE WHEN refused THEN 'refused' ELSE '' END, count(*) FROM hook_deliveries WHERE tenant_id = $1 AND replay_of = '' GROUP BY 1, 2`: func(kind string, n int64) usage.Counts {
			if kind == "refused" {
				return usage.Counts{HooksRefused: n}
			}
			return usage.Counts{HooksAccepted: n}
		},
	}
}

// Recorded recounts.
func (s usageRecount) Recorded(ctx context.Context, owner tenant.ID) (map[usage.Day]usage.Counts, error) {
	all := make(map[usage.Day]usage.Counts)
	for query, counts := range s.recounted() {
		err := s.EachRow(ctx, "recount usage", func(rows *sql.Rows) error {
			var day usage.Day
			var kind string
			var n int64
			if err := rows.Scan(&day, &kind, &n); err != nil {
				return err
			}
			c := counts(kind, n)
			c.Add(all[day])
			all[day] = c
			return nil
		}, query, string(owner))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// RecordedBytes adds up what the records take.
func (s usageRecount) RecordedBytes(ctx context.Context, owner tenant.ID) (bytes int64, err error) {
	err = s.ReadRow(ctx, "add up recorded bytes", &bytes, `SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM (
		SELECT octet_length(payload) + octet_length(progress) + item_bytes AS bytes FROM runs WHERE tenant_id = $1
		UNION ALL SELECT octet_length(output) FROM run_outputs WHERE tenant_id = $1
		UNION ALL SELECT octet_length(payload) FROM run_payloads WHERE tenant_id = $1
		UNION ALL SELECT octet_length(entries) FROM run_history WHERE tenant_id = $1
		UNION ALL SELECT size FROM hook_deliveries WHERE tenant_id = $1 AND NOT refused
	) AS kept`, string(owner))
	return bytes, err
}
