package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ListChanges reports what changes in lists.
type ListChanges interface {
	// Follow calls send with what changes in lists within the caller's scope, in order, until ctx ends or
	// send fails, and returns that error. It goes on behind an event that somebody got before, by
	// its ID, also in another call. Where it cannot, for an empty ID or one that is not known here
	// (any more), and where changes may have been lost or were too many, the event is one without a Kind: the lists are
	// to be read anew. That also comes every few minutes, since what another process changed
	// that was killed at once is not reported. The first call may have no events; later ones
	// without any come every 15 seconds in which nothing happens.
	//
	// Changes of the same record that come together are one event. A caller who may not follow
	// is Forbidden, as tenant.Caller.May says.
	Follow(ctx context.Context, who tenant.Caller, after string, send func([]ListEvent) error) error
}

// ListEvent is a change with what it is named by.
type ListEvent struct {
	ID     string
	Change change.Change
}
