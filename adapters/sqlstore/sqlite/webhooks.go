package sqlite

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
)

//go:embed webhooks_waiting.sql
var webhooksWaiting string

//go:embed webhooks_owners.sql
var webhooksOwners string

//go:embed webhooks_claim.sql
var webhooksClaim string

var webhookStatements = webhooks.Statements{BeginClaim: "SELECT " + clock, Waiting: webhooksWaiting, Owners: webhooksOwners, Claim: webhooksClaim}
