package outbound

import "context"

// Engine brings runs of [run.EngineTemporal] to the processes that move them on. It learns which
// run it is, and nothing of what is in it.
type Engine interface {
	// HandOver has some process, perhaps this one, call inbound.Worker.MoveOn for a run that this one
	// has leased. It returns nil once the engine keeps that, whatever process ends after. The call may
	// come late, or several times: what the lease is not good for any more is refused then.
	HandOver(ctx context.Context, lease RunLease) error
}
