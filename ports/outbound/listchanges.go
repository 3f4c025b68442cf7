package outbound

import (
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ListChanges reports what changes in the lists of tenants that somebody follows. For all others
// it costs nothing.
type ListChanges interface {
	// FollowLists calls onChange with what changes in a tenant's lists, until stop is called; after
	// that it is not called any more. A change that is committed in this process after FollowLists
	// was called is reported before its unit of work returns. One that was not visible to this
	// process when FollowLists was called, and may not be reported, is made up for by a call without changes:
	// some may have been lost, and the lists are to be read anew.
	//
	// Of other processes changes are reported within a few milliseconds, where the
	// database carries notices, and those that they commit before they know that somebody follows are made up for in the same
	// way. What a process commits that is killed a moment later may be lost without a word.
	//
	// onChange does not block, calls nothing of this port, and is called by one goroutine at a time.
	FollowLists(owner tenant.ID, onChange func([]change.Change)) (stop func())
}
