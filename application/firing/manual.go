package firing

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Start starts a run by hand.
func (f *Service) Start(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, of workflow.ID, c run.ManualCall) (*run.Run, error) {
	if err := who.May(tenant.StartRun); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	return f.startByHand(ctx, who, idempotency, c.Call, func(ctx context.Context, st outbound.Stores) (found outbound.FiringVersion, none run.SnapshotID, err error) {
		if found, err = st.Firing.Version(ctx, who.Scope, of, c.Version); err == nil {
			err = execution.Startable(found, c.Version)
		}
		return found, none, err
	})
}

// StartVersion starts a run of a version, of a draft as it is now.
func (f *Service) StartVersion(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c run.Call) (r *run.Run, err error) {
	if err = who.May(tenant.StartVersionRun); err != nil {
		return nil, err
	}
	if err = c.Check(); err != nil {
		return nil, err
	}
	for range maxStale {
		r, err = f.startVersion(ctx, who, idempotency, id, c)
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != "stale_revision" {
			break
		}
	}
	return r, err
}

// maxStale bounds how often a draft may change while it is started.
const maxStale = 5

func (f *Service) startVersion(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c run.Call) (*run.Run, error) {
	var ver *workflow.Version
	err := f.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if err = st.Idempotency.Claim(ctx, who.Tenant(), idempotency, f.clock.Now()); err == nil {
			ver, err = st.Versions.Get(ctx, who.Scope, id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	registry, err := f.directory.CurrentRegistry(ctx, who.Tenant())
	if err != nil {
		return nil, err
	}
	if err := ver.CheckRunnable(*registry.For(who)); err != nil {
		return nil, err
	}
	return f.startByHand(ctx, who, idempotency, c, func(ctx context.Context, st outbound.Stores) (found outbound.FiringVersion, snapshot run.SnapshotID, err error) {
		if found, err = st.Firing.Version(ctx, who.Scope, ver.Workflow(), id); err != nil {
			return found, "", err
		}
		switch {
		case found.Version == "":
			_, err = st.Versions.Parent(ctx, who.Scope, id) // it is gone
		case !found.WorkflowActive:
			err = execution.WorkflowInactive()
		case !found.Published:
			snapshot, err = st.Snapshots.Keep(ctx, who.Scope, id, ver.Revision())
		}
		return found, snapshot, err
	})
}

// startByHand starts a run of what find finds in the same unit of work.
func (f *Service) startByHand(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.Call,
	find func(context.Context, outbound.Stores) (outbound.FiringVersion, run.SnapshotID, error),
) (r *run.Run, err error) {
	now, id, entity := f.clock.Now(), run.ID(f.random.ID(run.IDPrefix)), c.EntityOr(f.random.ID)
	key, _ := c.DedupeKeyOr(idempotency, f.random.ID)
	err = f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		found, snapshot, err := find(ctx, st)
		if err != nil {
			return err
		}
		if err := f.allowance.In(st).Admit(ctx, who.Tenant(), found.Budgets, 1, found.StoredBytes, len(c.Payload())); err != nil {
			return err
		}
		r = run.New(id, run.Start{
			Tenant: who.Tenant(), SubTenant: found.SubTenant, Workflow: found.Workflow, Version: found.Version, Snapshot: snapshot,
			Entity: entity, DedupeKey: key, Cause: run.CauseManual, Payload: c.Payload(),
		}, now)
		if _, err := st.Runs.Runs.Start(ctx, r); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, r, now)
	})
	if err != nil {
		return nil, err
	}
	f.signals.Notify(id)
	return r, nil
}
