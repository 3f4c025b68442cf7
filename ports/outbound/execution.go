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

// RunSignals tells those that wait for runs that they have changed, in all processes. It only
// saves waiting: signals may be lost, or come twice, and who follows polls the store as well.
type RunSignals interface {
	// Tell says that a run was started, or changed by somebody else than its worker. It is
	// called after the unit that did it has committed, never blocks and costs the store
	// less than one statement a call when there are many.
	Tell(changed ...run.ID)

	// Follow calls heard for what is told from then on, in this process at once and in
	// others within a few milliseconds, until ctx ends; then it returns nil. Without runs it
	// says that signals may have been lost. heard does not block, and is called by several
	// goroutines at a time.
	Follow(ctx context.Context, heard func(changed []run.ID)) error

	// Advanced says that runs have made steps under their worker, which only reaches
	// FollowClosely: in this process always, in others where one of the runs is wanted. Like Tell it never blocks, and while no run is wanted it costs the store
	// nothing.
	Advanced(runs ...run.ID)

	// FollowClosely is Follow with what Advanced says as well.
	FollowClosely(ctx context.Context, heard func(changed []run.ID)) error

	// Want asks other processes for what Advanced says of runs, for [WantedFor] from
	// then on.
	Want(runs ...run.ID)
}

// WantedFor is how long RunSignals.Want lasts.
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
