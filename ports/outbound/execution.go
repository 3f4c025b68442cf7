package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Compiler compiles what nodes and edges compute with.
type Compiler interface {
	run.Compiler
}

// RunSignals passes word of runs between those who change them and those who wait, in
// all processes. It only saves waiting: word may be lost, or told twice, and whoever
// follows looks at the store now and then all the same.
type RunSignals interface {
	// Tell says that a run was started, or changed by somebody else than its worker. It is
	// called after the unit that did it has committed, never blocks and costs the store
	// less than one statement a call when there are many.
	Tell(changed ...run.ID)

	// Follow calls heard for what is told from then on, in this process at once and in
	// others within a few milliseconds, until ctx ends; then it returns nil. Without runs it
	// says that word may have been lost. heard does not block, and is called by several
	// goroutines at a time.
	Follow(ctx context.Context, heard func(changed []run.ID)) error

	// Advanced says that runs have made steps under their worker, of which only those hear
	// who follow closely: in this process all of them, in others those that want word of one
	// of the runs. Like Tell it never blocks, and while nobody wants any it costs the store
	// nothing.
	Advanced(runs ...run.ID)

	// FollowClosely is Follow for those who hear of what runs do under their worker as well.
	FollowClosely(ctx context.Context, heard func(changed []run.ID)) error

	// Want asks other processes for word of what Advanced says of runs, for [WantedFor] from
	// then on.
	Want(runs ...run.ID)
}

// WantedFor is how long word of a run is wanted after RunSignals.Want.
const WantedFor = 30 * time.Second

// NodeEndpoints finds where a tenant's custom nodes run.
type NodeEndpoints interface {
	// Endpoint returns that of a node type's version: its own, else the tenant's, with the
	// secrets that sign calls to it. An unknown type, and one that has no endpoint at all,
	// is NotFound with the code node_endpoint_not_found. It may answer from memory, as
	// [Directory] does.
	Endpoint(ctx context.Context, owner tenant.ID, t node.Type, version string) (NodeEndpoint, error)
}

// NodeEndpoint is where custom nodes run.
type NodeEndpoint struct {
	URL     string
	Secrets []domain.SigningSecret // the newest first; all sign
}
