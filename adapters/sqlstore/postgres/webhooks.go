package postgres

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
)

// freshly makes the transaction's statements be planned for tables of the size they have.
const freshly = "set_config('plan_cache_mode', 'force_custom_plan', true)"

// planFreshly does nothing else.
const planFreshly = "WITH this AS MATERIALIZED (SELECT " + freshly + ") SELECT count(*) FROM this"

//go:embed webhooks_waiting.sql
var webhooksWaiting string

//go:embed webhooks_owners.sql
var webhooksOwners string

//go:embed webhooks_claim.sql
var webhooksClaim string

// webhookStatements begins a claim with a lock that lasts as long as the transaction, as
// [beginClaim] does, and reads the clock when it has it.
var webhookStatements = webhooks.Statements{
	BeginClaim: `WITH mine AS MATERIALIZED (
		SELECT pg_advisory_xact_lock(hashtextextended('claim deliveries', 2)), set_config('idle_in_transaction_session_timeout', '3000', true), ` + freshly + `
	) SELECT ` + clock + ` FROM mine`,
	Waiting: webhooksWaiting,
	Owners:  webhooksOwners,
	Claim:   webhooksClaim,
}
