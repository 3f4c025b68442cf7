package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// RunSignals notifies subscribers in all processes that runs have changed. It only saves
// waiting: signals may be lost, or come twice, and subscribers poll the store as well.
type RunSignals interface {
	// Notify reports that a run was started, or changed by somebody else than its worker. It is
	// called after the unit that did it has committed, never blocks and costs the store
	// less than one statement a call when there are many.
	Notify(changed ...run.ID)

	// Subscribe calls onSignal for what Notify reports from then on, in this process at once and in
	// others within a few milliseconds, until ctx ends; then it returns nil. Without runs it
	// says that signals may have been lost. onSignal does not block, and is called by several
	// goroutines at a time.
	Subscribe(ctx context.Context, onSignal func(changed []run.ID)) error

	// NotifyProgress reports that runs have made steps under their worker, which only reaches
	// SubscribeProgress: in this process always, in others where the progress of one of the
	// runs was requested. Like Notify it never blocks, and while no progress is requested it
	// costs the store nothing.
	NotifyProgress(runs ...run.ID)

	// SubscribeProgress is Subscribe with what NotifyProgress reports as well.
	SubscribeProgress(ctx context.Context, onSignal func(changed []run.ID)) error

	// RequestProgress asks other processes for what NotifyProgress reports of runs, for
	// [ProgressRequestTTL] from then on, and all processes for what they have not recorded of them.
	RequestProgress(runs ...run.ID)

	// SubscribeRequests calls onRequest for what RequestProgress asks for from then on, in this process
	// at once and in others within a few milliseconds, until ctx ends; then it returns nil. onRequest does
	// not block, and is called by several goroutines at a time.
	SubscribeRequests(ctx context.Context, onRequest func(runs []run.ID)) error
}

// ProgressRequestTTL is how long RunSignals.RequestProgress lasts.
const ProgressRequestTTL = 30 * time.Second

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
