package postgres

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
)

//go:embed runs_begin.sql
var runsBegin string

//go:embed runs_turns.sql
var runsTurns string

//go:embed runs_more.sql
var runsMore string

//go:embed runs_promote.sql
var runsPromote string

//go:embed runs_lease.sql
var runsLease string

//go:embed runs_renew.sql
var runsRenew string

//go:embed runs_held.sql
var runsHeld string

var runStatements = runs.Statements{
	BeginClaim: runsBegin, Turns: runsTurns, More: runsMore, Promote: runsPromote, Lease: runsLease, Renew: runsRenew, Held: runsHeld,
	AmongFirst:  func(subquery string) string { return "= ANY (ARRAY(" + subquery + "))" },
	FirstOfEach: firstOfEach,
	RunsOf: func(columns string) string {
		return `CROSS JOIN LATERAL (SELECT ` + columns + ` FROM runs WHERE tenant_id = p.owner AND id = p.run LIMIT 1) AS r`
	},
	WritingWith:  true,
	Facets:       "run_facets",
	StorageShard: storageShard,
	HoldShared:   " FOR KEY SHARE",
	LockLane:     lockLane,
	LockLanes: `SELECT count(` + lockLane("l.name") + `) FROM (
		SELECT name FROM json_array_elements_text(CAST($1 AS json)) AS name ORDER BY name COLLATE "C") AS l`,
}

func lockLane(name string) string { return "pg_advisory_xact_lock(hashtextextended(" + name + ", 3))" }

func firstOfEach(table, condition, firstOnes, of string) string {
	return `SELECT r.tenant_id, r.created_at, r.id FROM tenants t CROSS JOIN LATERAL (
		SELECT f.tenant_id, f.created_at, f.id FROM ` + table + ` f WHERE f.tenant_id = t.id` + condition + firstOnes + `) AS r WHERE true` + of
}

// clock is the time now, not that of the transaction's beginning.
const clock = "date_trunc('milliseconds', clock_timestamp())"

// storageShard is one of as many as the migration has, by the connection.
const storageShard = "pg_backend_pid() % 32"
