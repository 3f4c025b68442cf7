package sqlstore

// Dialect is what differs between the databases.
type Dialect struct {
	// ForUpdate is appended to a SELECT whose rows the unit will change. It is empty
	// where writing units run one after another anyway.
	ForUpdate string

	// ClaimRows is appended to a SELECT whose rows belong to the unit from then on, and
	// leaves out those that another unit has. It is empty where ForUpdate is.
	ClaimRows string

	// KeepTriggers is appended to a SELECT from triggers, under the name t, whose rows must
	// not be deleted until the unit ends, and leaves out those that are being deleted. It
	// is empty where ForUpdate is.
	KeepTriggers string

	// KeepVersions is appended to a SELECT from workflow_versions, under the name v, whose
	// rows must not be deleted until the unit ends. It is empty where ForUpdate is.
	KeepVersions string

	// AmongFirst compares what stands before it with the rows of a subquery that has a
	// LIMIT and refers to the row outside, in the way that reads no others.
	AmongFirst func(subquery string) string

	// Webhooks are the statements that claim events and deliveries.
	Webhooks WebhookStatements

	// PlanFreshly selects a number, and makes the unit's statements be planned for the
	// tables as they are: prepared statements keep plans that were made while there was
	// little in them, and that read all of it. It is empty where plans do not depend on that.
	PlanFreshly string

	// ClaimSchedules selects a number, and has what the unit's statements join looked up by
	// keys one by one: the database takes a list of tenants for longer than it is, and would
	// read every trigger for a unit of a few hundred schedules. It is empty where ForUpdate
	// is.
	ClaimSchedules string

	// RewritesRows says that a change of one column writes the others of its row as well,
	// however large they are.
	RewritesRows bool

	// Rows is a table expression named r over the parameter of a number, a JSON array of
	// objects, whose members are the columns.
	Rows func(parameter int, columns ...Column) string

	// HasPair is the condition that a column, an object of JSON whose values are texts, has a
	// pair of texts.
	HasPair func(column, key, value string) string

	// ClaimOutcome selects one row (free, fingerprint, answer) for an idempotency key:
	// whether no other unit holds the key, and what was recorded under it after a
	// time. Parameters: tenant, scope, key, time.
	ClaimOutcome string

	// ClaimOperatorOutcome does the same for a key of the operator. Parameters: scope, key,
	// time.
	ClaimOperatorOutcome string

	// Bytewise is appended to a column of text whose order is not that of its bytes, for it
	// to be sorted by them. It is empty where that is the order of every column.
	Bytewise string

	// InsertTriggers is a statement, and its arguments for a batch, that adds the triggers
	// whose version exists and whose key, if any, is free, each with its outcome. It is nil
	// where many statements in one transaction do as well. AddedTriggers selects the
	// identifiers of those of a batch that are there: an answer of so many rows would cost
	// more than asking again where not all were added, or not all for certain.
	InsertTriggers, AddedTriggers func(batch []TriggerEntry) (statement string, args []any)

	// Clock is the time by the database's clock, to the millisecond and as it keeps times.
	Clock string

	// Runs are the statements that claim runs.
	Runs RunStatements

	// WritingWith says whether a statement that writes may stand in the WITH of another one.
	WritingWith bool

	// Lateral says whether a subquery in FROM may refer to what stands before it.
	Lateral bool

	// RunFacets is the table that holds of each run what lists filter by and never changes.
	// It is empty where runs themselves have the indexes, since a change touches only those
	// that it changes something in.
	RunFacets string

	// StorageShard is which row of a tenant in tenant_storage the statements of a connection
	// add to. It is empty where triggers of the schema do it for them.
	StorageShard string

	// HoldShared is appended to a SELECT of a row that must not be deleted until the unit
	// ends. It is empty where ForUpdate is.
	HoldShared string

	// Intakes is how many batches of triggers are committed at the same time at most; 0
	// means 1.
	Intakes int

	// Translate turns an error of the driver into one that the ports speak of. It
	// returns other errors as they are.
	Translate func(error) error
}

// RunStatements are the statements that claim runs and keep them. The comments in their files
// say what they do and what their parameters are.
type RunStatements struct {
	// BeginClaim selects [Dialect.Clock] when no other unit that selects it is going on, and
	// keeps such units waiting until this one ends, or for a few seconds if its process
	// hangs. It only selects the clock where writing units run one after another anyway.
	BeginClaim string

	Turns, More, Promote string
	Lease                string // without its RETURNING
	Renew, Held          string
}

// WebhookStatements are the statements by which events and deliveries are claimed.
type WebhookStatements struct {
	// Waiting selects the columns of events that wait, as outbound.EventRepository has it.
	// Parameters: the events to leave out as [Dialect.Rows], how many at most, how many to
	// choose from, the level of this process.
	Waiting string

	// BeginClaim selects [Dialect.Clock] when no other unit that selects it is going on, and
	// keeps such units waiting until this one ends, or for a few seconds if its process
	// hangs. It does what PlanFreshly does as well.
	BeginClaim string

	// Owners selects (tenant_id, free_at) of the active tenants with pending deliveries.
	// Parameter: the level of this process.
	Owners string

	// Claim selects the columns of the deliveries to lease, in the order of their turns.
	// Parameters: tenants as [Dialect.Rows], now, the bounds of outbound.DeliveryClaim, and the
	// level of this process.
	Claim string
}

// Column is a column of [Dialect.Rows].
type Column struct {
	Name string
	Time bool // an instant, written as rowTime says; else text
}

// rowTime is how an instant is written for [Dialect.Rows]: as SQLite's driver keeps it
// (_time_format=sqlite), in UTC, and as PostgreSQL reads it.
const rowTime = "2006-01-02 15:04:05.999999999-07:00"

// Collision reports that a unit lost against another one that ran at the same
// time, or met a parent record that was just deleted, and should run again.
type Collision struct{ Cause error }

// Error names the cause.
func (c *Collision) Error() string { return "collided with another unit of work: " + c.Cause.Error() }

// Unwrap yields the cause.
func (c *Collision) Unwrap() error { return c.Cause }
