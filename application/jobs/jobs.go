// Package jobs implements inbound.Jobs, inbound.Erasures and inbound.JobWorker: work on many runs at once, and what removes
// runs with all that is about them.
package jobs

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Jobs.
type Service struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var (
	_ inbound.Jobs     = (*Service)(nil)
	_ inbound.Erasures = (*Service)(nil)
)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, clock: clock, random: random}
}

// Start stores a job with the identifiers of its runs.
func (s *Service) Start(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d job.Draft) (j *job.Job, err error) {
	if err = who.May(tenant.StartJob); err != nil {
		return nil, err
	}
	now, id := s.clock.Now(), job.ID(s.random.ID(job.IDPrefix))
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if j, err = job.New(id, who.Scope, d, now); err != nil {
			return err
		}
		if err := st.Runs.Jobs.Insert(ctx, j); err != nil {
			return err
		}
		matched, err := st.Runs.Jobs.Collect(ctx, j, job.MaxRuns+1)
		if err != nil {
			return err
		}
		if err := j.Begin(matched, now); err != nil {
			return err
		}
		if err := st.Runs.Jobs.Update(ctx, j); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, j, now)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Erase stores a job that finds what it removes as it goes on. Who is erased has no key from then on.
func (s *Service) Erase(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d job.ErasureDraft) (j *job.Job, err error) {
	if err = who.May(tenant.Erase); err != nil {
		return nil, err
	}
	now, id := s.clock.Now(), job.ID(s.random.ID(job.IDPrefix))
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if j, err = job.NewErasure(id, who.Scope, d, now); err != nil {
			return err
		}
		if err := st.Runs.Jobs.Insert(ctx, j); err != nil {
			return err
		}
		if err := st.Erasures.RevokeKeys(ctx, j, now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, j, now)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Get reads a job.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id job.ID) (j *job.Job, err error) {
	if err = who.May(tenant.ReadJobs); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		j, err = st.Runs.Jobs.Get(ctx, who.Scope, id)
		return err
	})
	return j, err
}

// List reads a page of jobs.
func (s *Service) List(ctx context.Context, who tenant.Caller, f job.Filter, q domain.Query) (found domain.Page[*job.Job], err error) {
	if err = who.May(tenant.ReadJobs); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.Jobs.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Cancel ends a job. It waits for the batch that a process works on.
func (s *Service) Cancel(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id job.ID) (j *job.Job, err error) {
	if err = who.May(tenant.CancelJob); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if j, err = st.Runs.Jobs.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if j.Action() == job.Erase {
			if err := who.May(tenant.Erase); err != nil {
				return err
			}
		}
		if err := j.Cancel(now); err != nil {
			return err
		}
		if err := st.Runs.Jobs.Update(ctx, j); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, j, now)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}
