package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// ErasureRepository removes what is about somebody. What a unit has removed is nowhere in the database once its log is
// written over; backups are somebody else's.
type ErasureRepository interface {
	RunDeletion

	// Take gives an erasure at most limit of the runs that its filter takes and that it does not have, and those
	// that started them, whose histories hold what they were started with, and which have not ended. Those that have
	// ended are removed at once. It returns how many runs the job was given, and what was removed; neither
	// where no run is left.
	Take(ctx context.Context, j *job.Job, limit int) (taken int, removed job.Removed, err error)

	// TakeChildren gives it at most limit of the runs that some of its runs started and that it does not have.
	TakeChildren(ctx context.Context, j *job.Job, of []run.ID, limit int) (taken int, err error)

	// RemoveRuns removes runs of a job, whether or not they have ended, with their histories, payloads and dedupe keys, and the events
	// about them with their deliveries. None of them is left to the job. What is kept of hooks and for repeated requests the parts of a
	// job go through: until it ends it knows which runs it has removed.
	RemoveRuns(ctx context.Context, owner tenant.ID, of job.ID, runs ...run.ID) (job.Removed, error)

	// RemovePart looks at the next records of the part that an erasure is in, behind the one that it has come to, and removes
	// those that are about whom it is about, or about runs that it has removed. next is the last one that it has looked at; empty where none is left.
	RemovePart(ctx context.Context, j *job.Job) (next string, removed job.Removed, err error)

	// RevokeKeys revokes, as of now, the keys and embed tokens that an erasure removes in its part of keys. Other processes are told.
	RevokeKeys(ctx context.Context, j *job.Job, now time.Time) error
}

// RunDeletion deletes runs. What takes long is found before the unit that deletes them.
type RunDeletion interface {
	// Children returns at most limit of the runs that a run started.
	Children(ctx context.Context, scope tenant.Scope, of run.ID, limit int) ([]run.ID, error)

	// Unfinished returns one of a run, those below it and the one that started it that has not ended; empty where all have.
	Unfinished(ctx context.Context, owner tenant.ID, of run.ID) (run.ID, error)

	// Times returns when something happened to runs and when they came up, in milliseconds, the oldest first.
	Times(ctx context.Context, owner tenant.ID, of []run.ID) ([]int64, error)

	// Traces looks for what names runs to which something happened at the times, from a place on: only at so many records that
	// nobody waits for it. next is where it goes on; the place is zero at the beginning and at the end.
	Traces(ctx context.Context, owner tenant.ID, of []run.ID, times []int64, from TracePlace) (found RunTraces, next TracePlace, err error)

	// DeleteRuns removes those of the runs that have ended and whose parents have, with their histories, payloads and dedupe keys,
	// and what was found that names them. Hooks still know by what keys they were delivered.
	DeleteRuns(ctx context.Context, owner tenant.ID, traces RunTraces, runs ...run.ID) (job.Removed, error)

	// Overwrite has what was removed overwritten in the files of the database soon after the unit has committed, where
	// the database keeps it there.
	Overwrite(ctx context.Context) error
}

// RunTraces are records about runs that do not go with them: events, deliveries to hooks that started or continued them, and answers
// that are kept for repeated requests.
type RunTraces struct {
	Events     []event.ID
	Deliveries []HookDelivery
	Answers    []domain.IdempotencyKey
}

// Add adds what else was found.
func (t *RunTraces) Add(more RunTraces) {
	t.Events, t.Deliveries, t.Answers = append(t.Events, more.Events...), append(t.Deliveries, more.Deliveries...), append(t.Answers, more.Answers...)
}

// HookDelivery names a delivery to a hook.
type HookDelivery struct {
	Trigger trigger.ID
	ID      hook.DeliveryID
}

// TracePlace is up to where traces of runs were looked for.
type TracePlace struct {
	Part  job.Part // Events, HookDeliveries or Answers
	After string   // the store's own
}
