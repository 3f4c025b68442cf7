package sqlstore

import (
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
)

// Dialect is what differs between the databases, of everything that is kept.
type Dialect struct {
	core.Dialect

	// Runs are the statements that claim runs and keep them.
	Runs runs.Statements

	// Webhooks are the statements that claim events and deliveries.
	Webhooks webhooks.Statements

	// KeepRows is appended to a SELECT from a table under the name t whose rows must
	// not be deleted until the unit ends, and leaves out those that are being deleted. It
	// is empty where ForUpdate is.
	KeepRows string

	// KeepVersions is appended to a SELECT from workflow_versions, under the name v, whose
	// rows must not be deleted until the unit ends. It is empty where ForUpdate is.
	KeepVersions string

	// ClaimSchedules selects a number, and has what the unit's statements join looked up by
	// keys one by one: the database takes a list of tenants for longer than it is, and would
	// read every trigger for a unit of a few hundred schedules. It is empty where ForUpdate
	// is.
	ClaimSchedules string

	// ClaimIdempotencyKey selects one row (free, fingerprint, answer) for an idempotency key:
	// whether no other unit holds the key, and what was recorded under it after a
	// time. Parameters: tenant, scope, key, time.
	ClaimIdempotencyKey string

	// ClaimOperatorIdempotencyKey does the same for a key of the operator. Parameters: scope, key,
	// time.
	ClaimOperatorIdempotencyKey string

	// KeepsNotices says that what processes tell each other is kept for a while, in a table.
	KeepsNotices bool

	// Bytewise is appended to a column of text whose order is not that of its bytes, for it
	// to be sorted by them. It is empty where that is the order of every column.
	Bytewise string

	// InsertTriggers is a statement, and its arguments for a batch, that adds the triggers
	// whose version exists and whose key, if any, is free, each with its outcome. It is nil
	// where many statements in one transaction do as well. AddedTriggers selects the
	// identifiers of those of a batch that are there: an answer of so many rows would cost
	// more than asking again where not all were added, or not all for certain.
	InsertTriggers, AddedTriggers func(batch []TriggerEntry) (statement string, args []any)

	// Day is the day of UTC of a column with an instant, as 2006-01-02.
	Day func(column string) string

	// HistoryOf is a table of the entries of all histories of a tenant, $1, with their day and their type.
	HistoryOf string

	// ParallelInserts is how many batches of triggers are committed at the same time at most; 0
	// means 1.
	ParallelInserts int

	// ParallelSchedules is how many units deal with a backlog of schedules at the same time at most; 0
	// means 1.
	ParallelSchedules int
}
