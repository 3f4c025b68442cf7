package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// RunStores are the repositories of runs in one unit of work. What [Stores] says of
// all repositories holds for them, except that the fence of a run is its Seq and not a
// revision. Runs go with their tenant. They do not go with their workflow, version or
// trigger, whose identifiers they keep.
type RunStores struct {
	Runs     RunRepository
	Pauses   PauseRepository
	Shared   SharedPayloads
	Queue    RunQueue
	Overview RunOverview
	All      AllRuns
	Origins  RunOrigins
	Families RunFamilies
	Loops    RunLoops
	Lanes    RunLanes
	Jobs     JobRepository
	JobQueue JobQueue
}

// DedupeRetention is how long a trigger's dedupe key stands for the run that was
// first started with it.
const DedupeRetention = 24 * time.Hour

// RunRepository keeps runs and their histories.
type RunRepository interface {
	// Start adds runs, each of which can be claimed at once, and says in their order what
	// became of them. One that has a lane can be claimed once fewer runs of the lane than its
	// limit are live that can be; runs of one lane come free in the order in which they were
	// started, and the limit is that of the one that was started last. A run whose trigger has started another one with the same dedupe key
	// less than [DedupeRetention] before its creation is not added: of several units that
	// start one at the same time, one adds it and the others learn its id when that unit
	// has ended. A run without a trigger, or without a dedupe key, is always added.
	// What is added begins on the engine of this process, and has it from then on.
	Start(ctx context.Context, runs ...*run.Run) ([]StartedRun, error)

	// Get returns NotFound with the code run_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Run, error)

	// List returns a page of a tenant's runs, to be sorted by createdAt or updatedAt.
	List(ctx context.Context, scope tenant.Scope, f run.Filter, q domain.Query) (domain.Page[run.Summary], error)

	// Record writes steps of different runs, each with its history, and what the runs wait
	// for from then on; see Awaiting. A run that ends makes room in its lane. A step is refused as a
	// Conflict with the code stale_run when the run has made another step since it was
	// read, or when the lease under which the step was made is not good any more, and as
	// NotFound with the code run_not_found when there is no such run. After a refusal the
	// unit does not commit, whatever else it wrote. Many steps cost little more than one.
	//
	// A step with which a run has turned wakes its parent, unless it is of an item, and, where the run has failed or was
	// cancelled, all runs that it started and that have not ended: those that have not ended are
	// due at once, until a worker records a step after it has looked; see RunStep.Woken.
	Record(ctx context.Context, steps ...RunStep) error

	// Awaiting returns the runs that a query asks for, those created first first, ties by
	// id, in their short form. Nothing is locked; what comes back may have moved on.
	Awaiting(ctx context.Context, scope tenant.Scope, q AwaitingQuery) ([]run.Awaiting, error)

	// History returns the entries of a run after one, which counts from 1, in order: from the
	// beginning for 0. Of a long history they are the first ones, at least one, and more says that
	// others follow. A run that does not exist has none.
	History(ctx context.Context, scope tenant.Scope, id run.ID, after int64) (entries []run.Entry, more bool, err error)
}

// PayloadID names a payload that runs of one tenant share.
type PayloadID string

// SharedPayloads starts runs that share their payload, which is kept once for all of them.
type SharedPayloads interface {
	// Start does what [RunRepository] does, for runs of one tenant that all have the same
	// payload. The identifier stands for it: units that start further runs with it name the
	// same one and bring the payload again, which is kept from then on if it was not. It
	// goes with the last run that has it, and is not kept when no run was added.
	Start(ctx context.Context, id PayloadID, runs ...*run.Run) ([]StartedRun, error)
}

// AwaitingQuery asks for runs about an entity that are paused, or of which a node waits
// for what an event can bring while others work.
type AwaitingQuery struct {
	Entity    string
	Event     string               // only those that wait for it or for any event; empty for all
	SubTenant *tenant.SubTenantID  // only those of this sub-tenant, empty for those of none; nil for all
	Versions  []workflow.VersionID // only those of these versions, at most a thousand; none for all
	Runs      []run.ID             // only these, at most a thousand; none for all. Not next to any other but the entity and Idle
	Idle      bool                 // of the runs that are named those of which nothing waits, instead of those of which something does
	After     *run.Awaiting        // only those behind it in the order; nil for the first ones
	Limit     int
}

// StartedRun says what became of a run that was to be started.
type StartedRun struct {
	ID    run.ID // of the run that the dedupe key stands for
	Added bool   // it is the one that was given; else one that was started before
}

// RunStep is a step that a run has made.
type RunStep struct {
	Run     *run.Run    // as it is after the step
	From    int64       // its Seq when it was read
	History []run.Entry // what the step appended; may be empty
	Lease   RunLease    // under which a worker made the step; the zero value for everybody else

	// Turned says that the run has ended, is paused or goes on with the step.
	Turned bool

	// Woken is how often the run had been woken when its worker last looked at what becomes of
	// its children and its parent; 0 from everybody else. A run that has been woken since is due
	// at once.
	Woken int64

	// Keep says that the worker goes on with the run. Else its lease ends with the step,
	// as every lease does when the run has finished. A step of somebody else leaves the
	// lease of an unfinished run as it is.
	Keep bool
}

// RunQueue leases runs to workers. It is for the gateway itself, and not scoped to
// one tenant, and every time in it is by the clock of the database, so that workers
// whose clocks differ agree.
//
// A run is due from its start until it has begun, at once when an attempt was begun
// and has no result, and else at its run.Run.WakeAt. It is free when it is due and not
// leased. A worker renews its leases while it works; when it dies they end, and its
// runs are free for others. What a worker does under a lease that another one has
// taken over meanwhile, cannot be recorded.
type RunQueue interface {
	// Claim leases at most limit free runs of active tenants. The tenants take turns: the
	// first run of each comes before the second of any, those that are leased to anybody
	// counted in, so that a tenant of whom many runs are worked on waits for one of whom
	// few are. Within a turn the tenants come by id, beginning behind the one that the last
	// claim of this process came to. The runs of one tenant come by when they became free,
	// ties by id. No more than perTenant runs of a tenant are leased at the same time,
	// whoever claims.
	//
	// A claim costs what it leases, however many tenants have runs that wait or are free:
	// it looks at little more tenants than it wants runs. The next one goes on as many
	// tenants further, so that of T tenants with free runs each that has nothing leased
	// gets a run within T/limit claims, whatever others have waiting. Runs whose time has
	// come while many hundreds of others' had come before are let in by hundreds a claim.
	//
	// Two units never claim the same run; one that another unit is changing is left
	// out without waiting. Units that claim may wait for one another, so they should do
	// nothing else. A run that cannot be read keeps none of the others from being leased: it
	// is postponed by [UnreadableWait] and returned with the reason, and nobody has it. What several
	// of the runs share is read once for all of them: see [run.ReadOnce].
	Claim(ctx context.Context, c RunClaim) ([]LeasedRun, error)

	// Renew lets leases end after a time from now, and returns those that are still good
	// with the Seq of their runs: one that differs from what the worker knows means that
	// somebody else has recorded a step. A lease is good until another worker claims the
	// run, the run finishes, or a step is recorded without keeping it; that its time has
	// passed does not end it alone. A time of 0 gives the runs back. It never waits for
	// other units: a lease on a run that one of them is changing is returned as Skipped,
	// with the end and the Seq that it had before.
	Renew(ctx context.Context, leases []RunLease, period time.Duration) ([]RenewedLease, error)

	// TakeOver passes a good lease on to another worker, from then on under another number. One that
	// is not good any more is a Conflict with the code stale_run. The run itself is not read.
	TakeOver(ctx context.Context, lease RunLease, worker string, period time.Duration) (LeasedRun, error)

	// MarkIsolated notes that a worker moves a run on in isolation whose last lease ended as
	// [LeaseExpired], so that the next worker knows should this process end as well. A lease that is not good any
	// more is a Conflict with the code stale_run.
	MarkIsolated(ctx context.Context, lease RunLease) error

	// Next returns the earliest time at which a run of an active tenant is free, or a time
	// that has passed when one is free now; ok is false when none will ever be. It does not
	// look at the bounds of [RunClaim]. It costs the same however many tenants and runs
	// there are: behind hundreds of runs of tenants that are not active it gives a time at
	// which to look again, and a claim at that time moves them out of the way.
	//
	// After a time other than zero it returns the earliest one later than that, of any tenant,
	// at which a pause, a postponement or a lease ends.
	Next(ctx context.Context, after time.Time) (at time.Time, ok bool, err error)

	// Now reads the clock of the database, to the millisecond.
	Now(ctx context.Context) (time.Time, error)
}

// RunClaim says how many runs are wanted, for whom and for how long.
type RunClaim struct {
	Worker    string        // who claims, for people
	Period    time.Duration // after which the leases end
	Limit     int
	PerTenant int // how many runs of one tenant may be leased at the same time

	// Bytes is how large the stored payloads and progress of the runs before one may be for
	// it to be leased as well; 0 for any size. So one run is always leased, however large.
	Bytes int64
}

// UnreadableWait is by how much a run that cannot be read is postponed.
const UnreadableWait = time.Minute

// LargeRunBytes is how large a stored run may be, in bytes, for Claim to read it. Larger ones are
// read by RunRepository.Get, after the unit of work in which they are leased.
const LargeRunBytes = 128 << 10

// LeasedRun is a run that was leased, or could not be.
type LeasedRun struct {
	Run    *run.Run // nil when it is unreadable, or large
	Lease  RunLease
	Until  time.Time // when the lease ends
	At     time.Time // when it was leased
	Size   int64     // of its stored payload, progress and outputs, in bytes
	Woken  int64     // how often it has been woken; see RunStep
	Engine run.Engine

	// LastLeaseEnd says how the last lease on the run ended.
	LastLeaseEnd LeaseEnd

	// Unreadable says why the run could not be leased, and nil of one that was. Of the rest
	// only the tenant and the run in Lease, and At, are set then.
	Unreadable error
}

// LeaseEnd is how a lease ended.
type LeaseEnd int

// The ends of leases. Another worker's that ends by its time tells that the process ended, or
// stood still, while it worked on the run.
const (
	LeaseReturned        LeaseEnd = iota // by its worker, which recorded a step or gave it back, or by none that there was
	LeaseExpired                         // by its time, for another worker
	LeaseExpiredIsolated                 // the same, while the run was isolated, before a step of that was recorded
)

// RunLease is the right to move a run on. The zero value is nobody's.
type RunLease struct {
	Tenant tenant.ID
	Run    run.ID
	Number int64 // differs each time the run is leased
}

// RenewedLease is a lease that is still good.
type RenewedLease struct {
	RunLease
	Seq     int64 // of the run
	Woken   int64 // how often it has been woken
	Skipped bool  // it ends when it would have ended before
}

// RunKey names a run.
type RunKey struct {
	Scope tenant.Scope // of who names it; outside of it there is no such run
	Run   run.ID
}

// RunOverview answers what the gateway asks of many runs at once.
type RunOverview interface {
	// Unfinished says of each trigger, in their order, whether one of its runs has not finished.
	Unfinished(ctx context.Context, of []*trigger.Trigger) ([]bool, error)

	// OfWorkflow returns at most limit unfinished runs of a workflow, by id.
	OfWorkflow(ctx context.Context, scope tenant.Scope, of workflow.ID, limit int) ([]run.ID, error)

	// Executes says whether a run that has not finished executes a version of a workflow.
	Executes(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (bool, error)

	// StartedWith says of each trigger, in their order, which run a dedupe key stands for;
	// none where that was created at or before the time, or there is none.
	StartedWith(ctx context.Context, scope tenant.Scope, of []trigger.ID, key string, after time.Time) ([]run.ID, error)

	// Seqs returns the Seq of runs, of any tenant, in their order; -1 for one that does not
	// exist.
	Seqs(ctx context.Context, of []RunKey) ([]int64, error)

	// Sweep removes the first at most limit runs of a tenant, by when they finished, or those of one of
	// its workflows, by when they were created, that finished before a time, with their histories and
	// their dedupe keys, and returns when each of them finished, or was created. Who removes more begins
	// where the last ones were: beginning anew passes over all that was removed a moment ago.
	Sweep(ctx context.Context, q RunSweep) ([]time.Time, error)
}

// RunSweep says which runs are removed because they are old.
type RunSweep struct {
	Tenant   tenant.ID
	Workflow workflow.ID // empty for all
	From     time.Time   // those that finished, or of a workflow were created, at or after it
	Before   time.Time   // those that finished before it
	Limit    int
}

// RunFamilies knows runs that others started.
type RunFamilies interface {
	// Statuses returns the statuses of runs, in their order; none for one that does not exist.
	Statuses(ctx context.Context, scope tenant.Scope, of []run.ID) ([]run.Status, error)

	// Hold keeps others from the runs that steps are of, and from those that the steps wake, until
	// the unit ends. A unit that does something else before it records the steps, such as starting the
	// runs that they start, begins with it, so that two never wait for each other.
	Hold(ctx context.Context, steps ...RunStep) error
}

// MaxLane is how many runs of a lane are looked at, and how large the limit of a lane can be.
const MaxLane = 1000

// RunLanes looks into the lanes of runs.
type RunLanes interface {
	// Enter returns what is in lanes of a tenant, in their order. Until the unit ends nobody else
	// starts runs in them, and none of their runs ends. Units that enter several lanes enter them
	// together, or first, so that two never wait for each other.
	Enter(ctx context.Context, owner tenant.ID, lanes ...string) ([]LaneState, error)

	// Hold does the same for the lanes of live runs, and returns nothing of them; and it keeps others
	// from the runs, from those that started them and from those that they started. A unit that is to
	// read several runs, and may end them, holds them before; one that reads a single one need not.
	Hold(ctx context.Context, owner tenant.ID, runs ...run.ID) error
}

// LaneState is what is in a lane.
type LaneState struct {
	Live int      // runs that are held by nobody
	Runs []run.ID // the first [MaxLane] in the order in which they were started: those that are live, then those that wait
}

// LatestRuns is how many runs RunOrigins.Latest looks at: of those that none started, and of all.
const LatestRuns = 100

// RunOutline is what a run executes, on which engine, and how large it is as it is stored, in bytes.
type RunOutline struct {
	Source run.Source
	Engine run.Engine
	Size   int64
}

// RunOrigins finds what runs came from, without reading them.
type RunOrigins interface {
	// Of returns what a run came from. An unknown id is NotFound with the code run_not_found.
	Of(ctx context.Context, scope tenant.Scope, id run.ID) (RunOutline, error)

	// Latest returns the run of a version that was created last of those that have finished, and
	// how large it is, as Of does; of any version of the workflow for an empty one. It looks at
	// the newest [LatestRuns] only, at none of an item, and returns the newest of them where none
	// has finished. None at all is NotFound with the code run_not_found.
	Latest(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (run.ID, int64, error)

	// Live is for the gateway itself, and not scoped to one tenant. It returns at most limit of the different origins that unfinished runs have, in one
	// fixed order, behind one of them; the zero value begins with the first. It costs what it
	// returns, however many runs there are.
	Live(ctx context.Context, after RunOrigin, limit int) ([]RunOrigin, error)

	// KeptShorter is for the gateway itself, too. It returns at most limit of the workflows whose runs
	// are kept for days of their own, by tenant and id, behind one of them; the zero value begins with
	// the first. It costs what it returns.
	KeptShorter(ctx context.Context, after KeptShorter, limit int) ([]KeptShorter, error)
}

// KeptShorter is a workflow whose runs are kept for days of its own.
type KeptShorter struct {
	Tenant   tenant.ID
	Workflow workflow.ID
	Days     int
}

// RunOrigin is what a run came from.
type RunOrigin struct {
	Tenant   tenant.ID
	Workflow workflow.ID

	// Orphaned says that there is no such workflow any more.
	Orphaned bool
}

// AllRuns looks at the runs of all tenants, for the operator.
type AllRuns interface {
	// List returns a page of the runs of all tenants, also of those that others started, to be
	// sorted by createdAt. For each tenant it costs as much as there is on the page and before
	// it, and the total as much as there are runs that fit, in an index.
	List(ctx context.Context, f run.OperatorFilter, q domain.Query) (domain.Page[run.Summary], error)

	// Get returns a run of any tenant. An unknown id is NotFound with the code run_not_found.
	Get(ctx context.Context, id run.ID) (run.Standing, error)

	// OldestWaiting returns the run of an active tenant that has been free for the longest
	// time, as [RunQueue] says it, at a time that the queue's clock gave; ok is false when none
	// is. It costs as much as there are tenants with such runs.
	OldestWaiting(ctx context.Context, now time.Time) (oldest run.Waiting, ok bool, err error)
}
