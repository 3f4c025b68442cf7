package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Jobs are work on many runs that a tenant asks for at once. An unknown id is NotFound with the
// code job_not_found; the jobs of a caller who reaches one sub-tenant are those that were asked for
// within it.
type Jobs interface {
	// Start begins a job that works on the runs that fit it now, with the same rules for each of
	// them as where it is asked for alone. A draft is Invalid with the code job_invalid, all
	// violations at once, or too_many_runs. While another job of the tenant is running it is a
	// Conflict job_running.
	Start(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d job.Draft) (*job.Job, error)

	// Get returns a job.
	Get(ctx context.Context, who tenant.Caller, id job.ID) (*job.Job, error)

	// List returns a page of jobs.
	List(ctx context.Context, who tenant.Caller, f job.Filter, q domain.Query) (domain.Page[*job.Job], error)

	// Cancel ends a job; what it has done stays done. Whoever ends an erasure may begin one. A Conflict is job_finished.
	Cancel(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id job.ID) (*job.Job, error)
}

// Erasures remove what is about somebody, for ever.
type Erasures interface {
	// Erase begins a job that removes what is about an entity or a sub-tenant, or runs by a filter, after cancelling those
	// that have not ended. A draft is Invalid with the code erasure_invalid. While another job of the
	// tenant is running it is a Conflict job_running.
	Erase(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d job.ErasureDraft) (*job.Job, error)

	// DeleteRun removes a run that has ended, with all that is about it, and the runs that it started. An unknown one is
	// NotFound run_not_found; while one of them, or the one that started it, has not ended it is a Conflict run_not_finished.
	DeleteRun(ctx context.Context, who tenant.Caller, id run.ID) error
}

// JobWorker works on jobs. Several processes may do so at the same time: each batch of runs is
// dealt with once, whatever process ends meanwhile.
type JobWorker interface {
	// Run works until ctx ends. It hands errors to failed, and goes on; a panic is one, a [Panic].
	Run(ctx context.Context, failed func(error))

	// Panics returns how many panics were contained since the start.
	Panics() int64
}
