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
	PreviewDraft(ctx context.Context, who tenant.Caller, once domain.Once, d trigger.PreviewDraft) (trigger.Preview, error)

	// Fires lists the ledger of a trigger: what became of each instant at which it was due.
	Fires(ctx context.Context, who tenant.Caller, id trigger.ID, f trigger.FireFilter, q domain.Query) (domain.Page[*trigger.Fire], error)
}

// Scheduler fires schedules. Several processes may do so at the same time: each instant
// of each trigger is dealt with once.
type Scheduler interface {
	// FireDue deals with schedules that are due, at most limit instants, in one unit of
	// work. It returns how many schedules it looked at, and when one has to be looked at
	// next: the zero time for never, a time that has passed when there may be more to do
	// at once. A schedule that cannot be dealt with is put off for a minute, so that it
	// does not keep the others waiting, and its error is returned with the rest.
	FireDue(ctx context.Context, limit int) (looked int, next time.Time, err error)

	// Run fires schedules until ctx ends. It hands errors to failed and goes on.
	Run(ctx context.Context, failed func(error))
}
