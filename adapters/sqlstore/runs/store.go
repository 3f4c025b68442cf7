// Package runs keeps runs: what was started, how far it is, which worker has it, and who is notified.
package runs

import (
	"sync/atomic"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Statements are the statements that claim runs and keep them, and what differs between the databases
// in the others. The comments in their files say what they do and what their parameters are.
type Statements struct {
	// BeginClaim selects [core.Dialect.Clock] when no other unit that selects it is going on, and
	// keeps such units waiting until this one ends, or for a few seconds if its process
	// hangs. It only selects the clock where writing units run one after another anyway.
	BeginClaim string

	Turns, More, Promote string
	Lease                string
	Renew, Held          string

	// RewritesRows says that a change of one column writes the others of its row as well,
	// however large they are.
	RewritesRows bool

	// AmongFirst compares what stands before it with the rows of a subquery that has a
	// LIMIT and refers to the row outside, in the way that reads no others.
	AmongFirst func(subquery string) string

	// FirstOfEach selects tenant_id, created_at and id of the first rows that each of the
	// tenants t has in a table: those that a condition on f takes, in an order and up to a
	// limit, and reads no others; of is a condition on t, behind AND.
	FirstOfEach func(table, condition, firstOnes, of string) string

	// RunsOf joins the runs of the rows p with owner and run, one after the other by their key.
	RunsOf func(columns string) string

	// WritingWith says whether a statement that writes may stand in the WITH of another one.
	WritingWith bool

	// Facets is the table that holds of each run what lists filter by and never changes.
	// It is empty where runs themselves have the indexes, since a change touches only those
	// that it changes something in.
	Facets string

	// StorageShard is which row of a tenant in tenant_storage the statements of a connection
	// add to. It is empty where triggers of the schema do it for them.
	StorageShard string

	// LockLanes locks the texts in $1, a JSON array, until the unit ends, in their order; empty
	// where writing units run one after another anyway.
	LockLanes string

	// LockLane is an expression that locks one text in the same way.
	LockLane func(text string) string

	// HoldShared is appended to a SELECT of a row that must not be deleted until the unit
	// ends. It is empty where ForUpdate is.
	HoldShared string
}

// Store is the part of a database that holds runs.
type Store struct {
	dialect     dialect
	start, live string                 // add runs, and in a second statement where the first cannot, what workers see of them
	record      string                 // writes many steps; empty where it takes several statements
	letGo       string                 // lets runs in a lane go
	keepItems   string                 // counts items of a run
	served      atomic.Pointer[string] // the tenant that the last claim came to

	// Begins is the engine with which runs begin that this process starts. It is that of the table
	// unless it is set before the store is used.
	Begins run.Engine

	// ServesTemporal says that this process has a Temporal server to hand runs over to. It is set
	// before the store is used.
	ServesTemporal bool

	// LiveRunsChanged is called with how many rows of live_runs a unit has written; nil where
	// nobody wants to know. It is set before the store is used.
	LiveRunsChanged func(rows int)
}

// dialect is all that differs between the databases in statements on runs.
type dialect struct {
	*core.Dialect
	Statements
}

// New returns the runs of a database of a dialect.
func New(base *core.Dialect, own Statements) *Store {
	d := dialect{base, own}
	return &Store{dialect: d, Begins: run.EngineTable, start: d.insertRuns(), live: d.insertLiveRuns(), record: d.recordSteps(), letGo: d.letGo(), keepItems: d.keepItems()}
}

// unit is a unit of work on runs.
type unit struct {
	*core.Unit
	store *Store
}

// In returns the repositories of a unit of work.
func (s *Store) In(u *core.Unit) outbound.RunStores {
	all := repository{&unit{u, s}}
	return outbound.RunStores{Runs: all, Pauses: pauses(all), Shared: sharedPayloads{all}, Queue: queue{all}, Overview: overview(all), All: allRuns(all), Origins: origins(all), Families: families(all), Loops: loops{all}, Lanes: lanes{all}, Jobs: jobs(all), JobQueue: jobs(all)}
}

func (s *Store) liveRunsChanged(rows int) {
	if s.LiveRunsChanged != nil && rows > 0 {
		s.LiveRunsChanged(rows)
	}
}

func (s *Store) lastServed() string {
	if last := s.served.Load(); last != nil {
		return *last
	}
	return ""
}
