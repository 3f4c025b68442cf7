package postgres

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
)

// planFreshly makes the transaction's statements be planned for tables of the size they have.
const planFreshly = "WITH this AS MATERIALIZED (SELECT set_config('plan_cache_mode', 'force_custom_plan', true)) SELECT count(*) FROM this"

//go:embed webhooks_begin.sql
var webhooksBegin string

//go:embed webhooks_waiting.sql
var webhooksWaiting string

//go:embed webhooks_owners.sql
var webhooksOwners string

//go:embed webhooks_claim.sql
var webhooksClaim string

var webhookStatements = webhooks.Statements{BeginClaim: webhooksBegin, Waiting: webhooksWaiting, Owners: webhooksOwners, Claim: webhooksClaim}
