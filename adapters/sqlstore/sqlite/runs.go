package sqlite

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
)

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
	BeginClaim: "SELECT " + clock, Turns: runsTurns, More: runsMore, Promote: runsPromote, Lease: runsLease, Renew: runsRenew, Held: runsHeld,
	AmongFirst:  func(subquery string) string { return "IN (" + subquery + ")" },
	FirstOfEach: firstOfEach,
	RunsOf: func(columns string) string {
		return `CROSS JOIN (SELECT ` + columns + ` FROM runs) AS r ON r.tenant_id = p.owner AND r.id = p.run`
	},
	RewritesRows: true,
}

// firstOfEach keeps SQLite from starting with the runs by CROSS JOIN, and from looking at all of a tenant by naming the index.
func firstOfEach(table, condition, firstOnes, of string) string {
	return `SELECT r.tenant_id, r.created_at, r.id FROM tenants t CROSS JOIN ` + table + ` r INDEXED BY sqlite_autoindex_runs_1 WHERE r.tenant_id = t.id AND r.id IN (
		SELECT f.id FROM ` + table + ` f WHERE f.tenant_id = t.id` + condition + firstOnes + `)` + of
}
