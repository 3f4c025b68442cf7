package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// UsageStores keep what tenants have used. What other repositories record in a unit is counted in it by them: runs that are
// started, what histories say, deliveries that end, deliveries to hooks. No two units write the same row for it. Of a tenant
// that is deleted nothing is left.
type UsageStores struct {
	Log     UsageLog
	Folding UsageFolding
	Recount UsageRecount
	Budgets UsageBudgets
}

// UsageLog knows what tenants have used.
type UsageLog interface {
	// Add counts what no repository records. Of a tenant that is gone nothing is kept.
	Add(ctx context.Context, owner tenant.ID, day usage.Day, c usage.Counts) error

	// Days returns what a tenant used on the days from one to before another that have anything to say, in their order,
	// also what was not folded yet. What was kept before comes as a day before the first one.
	Days(ctx context.Context, owner tenant.ID, from, to usage.Day) ([]usage.Daily, error)

	// Kept is how many bytes are kept for a tenant now.
	Kept(ctx context.Context, owner tenant.ID) (int64, error)
}

// UsageFolding adds up what units have appended. It is for the gateway itself, and not scoped to one tenant.
type UsageFolding interface {
	// Waiting says whether there is anything to fold.
	Waiting(ctx context.Context) (bool, error)

	// Hold takes the turn to fold, which belongs to the unit until that ends; ok is false where another unit has it. It returns when what
	// is kept was last noted.
	Hold(ctx context.Context) (notedAt time.Time, ok bool, err error)

	// Fold adds at most limit of what units have appended to the days that it is about, and returns how many that were, and of
	// which tenants. What a tenant has used stays the same for everybody who reads it.
	Fold(ctx context.Context, limit int) (n int, of []tenant.ID, err error)

	// NoteKept notes how many bytes are kept for each tenant now as what was kept on a day.
	NoteKept(ctx context.Context, day usage.Day, at time.Time) error
}

// UsageBudgets knows what tenants have used of their budgets.
type UsageBudgets interface {
	// Standings returns it of the tenants that there are, by their identifiers: the runs that were started from the first of a
	// month on, those that are live, and what is kept, each where there is a budget for it. It is that of the moment: what
	// other units are about to start is not in it, and neither is what the unit has started itself.
	Standings(ctx context.Context, month usage.Day, of ...tenant.ID) ([]usage.Standing, error)

	// Announce notes that tenants are told of thresholds, and returns those of which they were not told before. A tenant
	// that is gone is not told.
	Announce(ctx context.Context, all ...usage.Threshold) (first []usage.Threshold, err error)
}

// UsageRecount compares what was counted with the records. It is for the gateway itself.
type UsageRecount interface {
	// Since is the first day of which everything was counted.
	Since(ctx context.Context) (usage.Day, error)

	// Counted returns by days what was counted of a tenant, without what was removed since.
	Counted(ctx context.Context, owner tenant.ID) (map[usage.Day]usage.Counts, error)

	// Recorded returns the same of the records that there are. It reads all of them.
	Recorded(ctx context.Context, owner tenant.ID) (map[usage.Day]usage.Counts, error)

	// RecordedBytes is how many bytes the records take of which [UsageLog] says how many are kept.
	RecordedBytes(ctx context.Context, owner tenant.ID) (int64, error)
}
