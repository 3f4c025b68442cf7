package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Schedules is what can be asked about when triggers fire. An unknown trigger is
// NotFound with the code trigger_not_found.
type Schedules interface {
	// Preview lists the next fire times of a trigger, 5 where count is nil. A count that is
	// not 1 to 100 is an Invalid error with the code preview_invalid.
	Preview(ctx context.Context, who tenant.Caller, id trigger.ID, count *int) (trigger.Preview, error)

	// PreviewDraft lists the next fire times of a configuration, as if a trigger with it
	// were activated now. Every violation is reported at once, with the code
	// preview_invalid.
	PreviewDraft(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d trigger.PreviewDraft) (trigger.Preview, error)

	// Fires lists the ledger of a trigger: what became of each instant at which it was due.
	Fires(ctx context.Context, who tenant.Caller, id trigger.ID, f trigger.FireFilter, q domain.Query) (domain.Page[*trigger.Fire], error)
}

// Scheduler fires schedules. Several processes may do so at the same time: each instant
// of each trigger is dealt with once, and tenants are served in turns, however much is
// due of one.
type Scheduler interface {
	// FireDue deals with schedules that are due, about limit instants of theirs, in one unit
	// of work. What cannot be dealt with does not keep the others waiting, and its error is
	// returned with the rest: a schedule that fails, or panics, is put off for a minute, and
	// those of a tenant that take too long for half a minute.
	FireDue(ctx context.Context, limit int) (ScheduleResult, error)

	// Run fires schedules until ctx ends. It hands errors to failed and goes on; a panic
	// is one, a [Panic].
	Run(ctx context.Context, failed func(error))

	// Panics returns how many panics were contained since the start. Each was an error as
	// well.
	Panics() int64
}

// ScheduleResult is what came of a look at the schedules.
type ScheduleResult struct {
	Schedules int // that were dealt with

	// Next is when one has to be looked at next: the zero time for never, a time that is not
	// after Now when there may be more to do at once.
	Next time.Time

	Now time.Time // by the store's clock, which may differ from that of this process
}
