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
	AmongFirst:   func(subquery string) string { return "IN (" + subquery + ")" },
	RewritesRows: true,
}
