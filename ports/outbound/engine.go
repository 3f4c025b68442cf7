package outbound

import "context"

// Engine brings runs of [run.EngineTemporal] to the processes that move them on. It learns which
// run it is, and nothing of what is in it.
type Engine interface {
	// HandOver has some process, perhaps this one, call inbound.Worker.MoveOn for a run that this one
	// has leased. It returns nil once the engine keeps that, also where this process ends after. The call
	// comes once a process serves the engine, and after an error once more, there or elsewhere. Where the
	// process that is called ends, it comes when the run is handed over again.
	//
	// The call may come late, or several times: what the lease is not good for any more is refused then. While
	// the process lives that is called, the same lease comes to no other, and a newer one comes at the latest
	// when the call has returned.
	HandOver(ctx context.Context, lease RunLease) error
}
