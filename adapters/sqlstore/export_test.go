package sqlstore

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

// PruneChain is the statement that prunes a chain.
const PruneChain = pruneChain

// PageOfAuditLog is the statement that reads a page of a log, and the one that counts all that fit; the last two arguments are the page's.
func PageOfAuditLog(owner tenant.ID, f audit.Filter, q domain.Query) (page, count string, args []any, err error) {
	l := auditList(owner, f)
	page, count, err = auditPage(l, q)
	return page, count, l.Args, err
}

// The statements that look for traces of runs.
const (
	NextDeliveries = nextDeliveries
	AnswersOf      = answersOf
	EnoughAnswers  = enoughAnswers
)

// EventsAt finds events by when they happened.
func EventsAt(s *Store) string { return s.eventsAt() }

// NextOfPart reads the next deliveries to hooks, events and answers for an erasure.
func NextOfPart() []string {
	return []string{
		nextOfPart("hook_deliveries", "trigger_id, id", "received_at", "runs", "sealed"),
		nextOfPart("webhook_events", "id", "happened_at", "sub_tenant_id", "data"),
		nextOfPart("outcomes", "scope, key", "created_at", "answer"),
	}
}
