package hooks

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// List returns a page of the deliveries of a hook.
func (s *Service) List(ctx context.Context, who tenant.Caller, of trigger.ID, f hook.ReceivedFilter, q domain.Query) (found domain.Page[*hook.Received], err error) {
	if err = who.May(tenant.ReadHook); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := find(ctx, st, who.Scope, of); err != nil {
			return err
		}
		found, err = st.Hooks.Deliveries.List(ctx, who.Scope, of, f, q)
		return err
	})
	return found, err
}

// Delivery returns one, as people may see it.
func (s *Service) Delivery(ctx context.Context, who tenant.Caller, of trigger.ID, id hook.DeliveryID) (*hook.Received, error) {
	if err := who.May(tenant.ReadHook); err != nil {
		return nil, err
	}
	h, d, err := s.kept(ctx, who.Scope, of, id)
	if err != nil {
		return nil, err
	}
	secrets, err := s.directory.Secrets(ctx, h)
	if err != nil {
		return nil, err
	}
	d.Request = h.Scheme().Show(secrets, d.Request)
	return d, nil
}

// kept reads a hook and one of its deliveries.
func (s *Service) kept(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID) (h *hook.Hook, d *hook.Received, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if h, err = find(ctx, st, scope, of); err != nil {
			return err
		}
		d, err = st.Hooks.Deliveries.Get(ctx, scope, of, id)
		return err
	})
	return h, d, err
}

// Replay starts again what a delivery starts. A repeat that comes before the outcome is recorded finds the runs by the key, and
// starts none.
func (s *Service) Replay(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, id hook.DeliveryID) (made *hook.Received, err error) {
	if err = who.May(tenant.ReplayDelivery); err != nil {
		return nil, err
	}
	err = s.recorded(ctx, who, once, func() (any, error) {
		made, err = s.replay(ctx, who.Scope, of, id, once.Key)
		return made, err
	})
	return made, err
}

// ReplayOnce replays a delivery for a job, once whoever asks again.
func (s *Service) ReplayOnce(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID, by job.ID) error {
	made, err := s.replay(ctx, scope, of, id, string(by))
	if err == nil && made.Verdict == hook.Inactive {
		return domain.Fail(domain.Conflict, made.Code, "The hook, its trigger or its workflow is switched off.")
	}
	return err
}

// replay goes round what the keys of deliveries stand for, but not round the filter. What was rejected has started nothing: its
// sender may have repeated it since, so that its own key tells whether it is to start anything.
func (s *Service) replay(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID, once string) (*hook.Received, error) {
	h, before, err := s.kept(ctx, scope, of, id)
	if err != nil {
		return nil, err
	}
	if err := before.Replayable(); err != nil {
		return nil, err
	}
	open, err := s.reopen(ctx, h)
	if err != nil {
		return nil, err
	}
	if result := h.Scheme().VerifyKept(open.Secrets, before.Request); !result.Verified {
		return nil, domain.Fail(domain.Conflict, "delivery_not_replayable", "The delivery cannot be verified any more: %s. Were the hook's scheme or secrets changed?", result.Reason)
	}
	now := s.clock.Now()
	made := s.received(h, now)
	made.Anew = before.Verdict == hook.Rejected
	made.ReplayOf, made.Once, made.Request, made.Client = before.ID, once, before.Request, before.Client
	if err := s.deliver(ctx, open, made, before.Request); err != nil {
		return nil, err
	}
	made.Request = hook.Request{}
	return made, nil
}

// reopen is what the directory knows of a hook, of one that was read in the store.
func (s *Service) reopen(ctx context.Context, h *hook.Hook) (open outbound.OpenHook, err error) {
	open.Hook = h
	if open.Secrets, err = s.directory.Secrets(ctx, h); err != nil {
		return open, err
	}
	open.Reader = s.directory.Reader(h)
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		open.Tenant, err = st.Tenants.Get(ctx, h.Tenant())
		return err
	})
	return open, err
}

// ReplayAll begins a job that replays the deliveries of a time.
func (s *Service) ReplayAll(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, f hook.ReceivedFilter, malformed []domain.Violation) (j *job.Job, err error) {
	if err = who.May(tenant.ReplayDelivery); err != nil {
		return nil, err
	}
	now, id := s.clock.Now(), job.ID(s.random.ID(job.IDPrefix))
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), once, now); err != nil {
			return err
		}
		if _, err := find(ctx, st, who.Scope, of); err != nil {
			return err
		}
		if j, err = job.NewReplay(id, who.Scope, job.ReplayDraft{Trigger: of, From: f.From, To: f.To, Verdict: string(f.Verdict), Malformed: malformed}, now); err != nil {
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
		return st.Idempotency.Record(ctx, who.Tenant(), once, j, now)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

var _ inbound.DeliveryReplayer = (*Service)(nil)
