package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ErasureRepository removes what is about somebody. What a unit has removed is nowhere in the database once its log is
// written over; backups are somebody else's.
type ErasureRepository interface {
	RunsAround

	// Take gives an erasure at most limit of the runs that its filter takes and that it does not have, and those
	// that started them, whose histories hold what they were started with, and which have not ended. Those that have
	// ended are removed at once. It returns how many runs the job was given, and what was removed; neither
	// where no run is left.
	Take(ctx context.Context, j *job.Job, limit int) (taken int, removed job.Removed, err error)

	// TakeChildren gives it at most limit of the runs that some of its runs started and that it does not have.
	TakeChildren(ctx context.Context, j *job.Job, of []run.ID, limit int) (taken int, err error)

	// RemoveRuns removes those of the runs that have ended and whose parents have, or of a job, if one is named, all, with their histories, payloads and dedupe keys, the events about
	// them with their deliveries, the deliveries to hooks that started or continued them, and the answers that are
	// kept for repeated requests and name them. Hooks still know by what keys they were delivered. None of them
	// is left to the job. What is kept of hooks and for repeated requests the parts of a job go through: until it ends it knows which
	// runs it has removed.
	RemoveRuns(ctx context.Context, owner tenant.ID, of job.ID, runs ...run.ID) (job.Removed, error)

	// RemovePart looks at the next records of the part that an erasure is in, behind the one that it has come to, and removes
	// those that are about whom it is about, or about runs that it has removed. next is the last one that it has looked at; empty where none is left.
	RemovePart(ctx context.Context, j *job.Job) (next string, removed job.Removed, err error)

	// RevokeKeys revokes, as of now, the keys and embed tokens that an erasure removes in its part of keys. Other processes are told.
	RevokeKeys(ctx context.Context, j *job.Job, now time.Time) error

	// Overwrite has what was removed overwritten in the files of the database soon after the unit has committed, where
	// the database keeps it there.
	Overwrite(ctx context.Context) error
}

// RunsAround finds what a run started, and whether it can be removed.
type RunsAround interface {
	// Children returns at most limit of the runs that a run started.
	Children(ctx context.Context, scope tenant.Scope, of run.ID, limit int) ([]run.ID, error)

	// Unfinished returns one of a run, those below it and the one that started it that has not ended; empty where all have.
	Unfinished(ctx context.Context, owner tenant.ID, of run.ID) (run.ID, error)
}
