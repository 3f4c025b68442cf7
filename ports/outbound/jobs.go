package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// JobRepository keeps jobs. A scope of one sub-tenant covers the jobs that were asked for within
// it.
type JobRepository interface {
	// Insert adds a job that is running. While another one of the tenant is, it is a Conflict
	// with the code job_running, which names that one to whom it is shown: of two units at the
	// same time one inserts its job.
	Insert(ctx context.Context, j *job.Job) error

	// Collect gives a job the runs that it is to work on, and returns how many: those within its
	// scope that fit its filter, have one of its statuses and were created before it, at most
	// limit.
	Collect(ctx context.Context, j *job.Job, limit int) (int, error)

	// Get returns NotFound with the code job_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id job.ID) (*job.Job, error)

	// List returns a page of jobs, to be sorted by createdAt or updatedAt.
	List(ctx context.Context, scope tenant.Scope, f job.Filter, q domain.Query) (domain.Page[*job.Job], error)

	// Update writes how far a job is, and ends the lease on it. Runs that it has come to are not
	// remembered any longer, and none of a job that has ended is.
	Update(ctx context.Context, j *job.Job) error

	// Sweep removes at most limit records, of any tenant, and returns how many: what erasures that were cancelled have noted, and
	// jobs that ended before the time. The receipts of erasures stay as much longer as [job.ReceiptRetention] is than [job.Retention].
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// JobQueue leases jobs to processes. It is for the gateway itself, and not scoped to one tenant;
// its times are by the clock of the database.
type JobQueue interface {
	// Waits says whether Claim would find a job, for less than that costs.
	Waits(ctx context.Context) (bool, error)

	// Claim leases a running job of an active tenant for a time, the one that has waited longest
	// first; none when there is none that nobody has. Two units never claim the same one. A lease
	// only keeps others from the same work: what a process does whose lease has ended counts as
	// long as the job was not updated meanwhile. One that cannot be read is postponed by
	// [UnreadableWait], and returned as the reason.
	Claim(ctx context.Context, period time.Duration) (ClaimedJob, error)

	// Runs returns at most limit of the runs that a job has not come to, by id. A run that is gone
	// has no source.
	Runs(ctx context.Context, j *job.Job, limit int) ([]JobRun, error)
}

// ClaimedJob is a job that was leased, or the reason why it cannot be read; neither for none.
type ClaimedJob struct {
	Job        *job.Job
	Unreadable error
}

// JobRun is a run that a job is to come to.
type JobRun struct {
	ID     run.ID
	Source run.Source
	Size   int64 // of what is stored of it, in bytes
}
