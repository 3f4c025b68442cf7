package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// RunLoops keeps the items for which nodes run their bodies, each once, and how far those nodes
// are. Items go with the run of their node. What writes is done in the unit that records the steps
// it is about, after those; see [RunRepository].
type RunLoops interface {
	// Begin keeps the items of a node of a run, or lets the node go on after its run was retried:
	// then it looks at all items again. The runs of the items will have the identifiers that
	// [run.ID.Item] makes of a fresh one. No item has begun after it; Move says which ones do.
	Begin(ctx context.Context, of *run.Run, start run.LoopStart, fresh run.ID) error

	// Leave says that nobody waits for nodes of a run any more. No item of theirs begins from then
	// on, and those that have not ended are woken.
	Leave(ctx context.Context, of *run.Run, nodes ...workflow.NodeID) error

	// Move counts steps of items, and returns for each of their nodes, and for each that a move
	// without a status names, whose turn it is, in the order of the items: as many as there is room
	// for. Of those that begin for the first time the caller starts the runs. One that ended
	// otherwise than completed before its node was let go on is pending again. Where a node has
	// nothing more to wait for, or what is under way is paused or goes on, it wakes its run. It
	// costs little more for many steps than for one.
	Move(ctx context.Context, moves ...LoopMove) ([]LoopTurn, error)

	// Start starts the runs of items, which share the payload of a turn.
	Start(ctx context.Context, payload PayloadID, items ...ItemStart) error

	// Of returns how far the nodes of a run are that have begun with their items.
	Of(ctx context.Context, owner tenant.ID, of run.ID) ([]run.Loop, error)

	// Ended returns what became of items that have ended, in their order. None says that there are
	// no more.
	Ended(ctx context.Context, q EndedItems) ([]run.Outcome, error)
}

// LoopKey names a node of a run that runs its body for each item.
type LoopKey struct {
	Tenant tenant.ID
	Run    run.ID
	Node   workflow.NodeID
}

// LoopMove is a step of an item.
type LoopMove struct {
	Loop    LoopKey
	Was, Is run.Status // empty for none: the node begins, or goes on
}

// LoopTurn says whose turn it is.
type LoopTurn struct {
	Loop    LoopKey
	Items   []ItemTurn
	Payload PayloadID // of their runs
	Woke    bool      // the run of the node was woken
	Left    bool      // nobody waits for the node any more
}

// ItemTurn is an item that begins.
type ItemTurn struct {
	Run   run.ID
	Index int
	Size  int  // of the item, and of what it looks at besides, in bytes
	Again bool // its run is pending already
}

// ItemStart is the run of an item that begins.
type ItemStart struct {
	Run  *run.Run
	Size int // see [ItemTurn]
}

// EndedItems asks for items that have ended.
type EndedItems struct {
	Loop   LoopKey
	From   int   // the first one that is looked at
	Failed bool  // only those that have failed or were cancelled
	Limit  int   // how many are wanted at the most
	Bytes  int64 // how large what is stored of those before one may be for it to be returned as well; the first one always is
}
