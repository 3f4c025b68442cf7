package sqlite

import (
	_ "embed"

	"github.com/sluicehq/sluice/adapters/sqlstore"
)

//go:embed webhooks_waiting.sql
var webhooksWaiting string

//go:embed webhooks_owners.sql
var webhooksOwners string

//go:embed webhooks_claim.sql
var webhooksClaim string

var webhooks = sqlstore.WebhookStatements{BeginClaim: "SELECT " + clock, Waiting: webhooksWaiting, Owners: webhooksOwners, Claim: webhooksClaim}
