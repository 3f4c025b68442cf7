package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Changes notifies who keeps an answer in memory when it goes out of date: when a
// tenant, one of its API keys or one of its custom nodes changed.
type Changes interface {
	// Watch calls w until ctx ends, and then returns nil. It calls SetReliable(true) once
	// every later change will be reported, and SetReliable(false) as soon as that can no longer be
	// promised, which it is at first and may be again. While it is promised, Changed is
	// called for a change made through this unit of work before the unit's Do returns,
	// and for one made in another process within a second of its commit. A change may be
	// reported more than once. w is called by several goroutines at a time, and must not
	// start a unit of work itself.
	Watch(ctx context.Context, w Watcher) error
}

// Watcher is notified by [Changes].
type Watcher interface {
	// Changed says that what the tenant consists of changed.
	Changed(owner tenant.ID)

	// SetReliable says whether every change from now on is reported. What was known before the
	// call may be out of date, whichever way it goes.
	SetReliable(all bool)
}
