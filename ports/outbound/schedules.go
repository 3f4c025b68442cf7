package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// ScheduleRepository keeps when each schedule has to be looked at. It is for the
// gateway itself, and not scoped to one tenant.
//
// It holds exactly the triggers of type schedule that can fire: those that are active,
// on the active version of an active workflow of an active tenant; and those that only the
// version keeps from it, and that were left behind. The store sees to
// that in the unit that changes any of it. A trigger that comes to be held, or whose
// trigger.Trigger.ActivatedAt changes, is held as dealt with up to then and is to be
// looked at at once. One that is held goes on as it is when its version changes, or is
// replaced, and it is still to be held.
type ScheduleRepository interface {
	// Due returns at most limit schedules whose time to be looked at is not after now. Where
	// more are due, tenants take turns: those that it comes to, which are as many as it can
	// give one each, get an equal share of the limit, and only what these leave goes to the
	// most overdue of all. It goes on with the others at the next call, so that every tenant
	// has its turn however much is due of one. Of a tenant the most overdue come first.
	//
	// No other unit gets them until this one ends, and those that another unit has, or whose
	// trigger another unit is about to delete, are left out without waiting.
	Due(ctx context.Context, now time.Time, limit int) ([]DueSchedule, error)

	// DueOf does so with the given schedules, in their order, and leaves out those that are
	// not due.
	DueOf(ctx context.Context, now time.Time, of []TriggerKey) ([]DueSchedule, error)

	// Advance records how far schedules were dealt with. One that is not held any more is
	// left out.
	Advance(ctx context.Context, looked []ScheduleProgress) error

	// Postpone makes a schedule that is due wait until a time; a key without a trigger stands
	// for all that are due of the tenant. How far they were dealt with stays as it is. Those
	// that another unit has are left out without waiting.
	Postpone(ctx context.Context, now, until time.Time, of TriggerKey) error

	// Next returns the earliest time at which a schedule has to be looked at, the zero time
	// when none ever has, and the time now by the store's clock, to the millisecond: that of
	// the database where processes share one, so that all of them go by the same.
	Next(ctx context.Context) (at, now time.Time, err error)
}

// DueSchedule is a schedule that has to be looked at.
type DueSchedule struct {
	Trigger        *trigger.Trigger
	ProcessedUntil time.Time // every instant up to it was dealt with
}

// ScheduleProgress is how far a schedule was dealt with.
type ScheduleProgress struct {
	Tenant         tenant.ID
	Trigger        trigger.ID
	ProcessedUntil time.Time
	Next           time.Time // when to look again; zero for never
}

// FireRepository keeps the ledger of fires.
type FireRepository interface {
	// Record adds fires and returns those that it added, in their order. An instant of a
	// trigger that the ledger holds already, or that is given a second time, is left as
	// it is and not returned.
	Record(ctx context.Context, fires []*trigger.Fire) (added []*trigger.Fire, err error)

	// Amend writes the outcome, reason and run of fires that the ledger holds.
	Amend(ctx context.Context, fires []*trigger.Fire) error

	// List returns a page of a trigger's fires in the order of the instants, which are all
	// different, with the exact number of those that fit. The query's field is not looked
	// at. A trigger that does not exist has none. Fires belong where their trigger does.
	List(ctx context.Context, scope tenant.Scope, of trigger.ID, f trigger.FireFilter, q domain.Query) (domain.Page[*trigger.Fire], error)

	// Sweep removes at most limit fires, of any tenant, that were recorded before the
	// time, and returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}
