package runs

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Runs.
type Service struct {
	work      outbound.UnitOfWork
	directory outbound.Directory
	plans     *execution.Plans
	computing execution.Computing
	signals   outbound.RunSignals
	clock     outbound.Clock
	random    outbound.Random
	key       run.Key
	followers *followers
	nodes     outbound.NodeRunner // makes the attempts at nodes that compute; nil leaves them open in simulations
}

var _ inbound.Runs = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, directory outbound.Directory, compiler outbound.Compiler, signals outbound.RunSignals,
	clock outbound.Clock, random outbound.Random, key run.Key, budgets outbound.Budgets,
) *Service {
	return &Service{
		work: work, directory: directory, plans: execution.NewPlans(work, directory, compiler, budgets, 0), computing: execution.NewComputing(budgets), signals: signals,
		clock: clock, random: random, key: key, followers: newFollowers(work, signals),
	}
}

// WithNodes has simulations compute with a runner. It returns the service.
func (s *Service) WithNodes(runner outbound.NodeRunner) *Service {
	s.nodes = runner
	return s
}

// List returns a page of runs.
func (s *Service) List(ctx context.Context, who tenant.Caller, f run.Filter, q domain.Query) (found domain.Page[run.Summary], err error) {
	if err = who.May(tenant.ReadRuns); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.Runs.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Get returns a run with the tokens that resume it.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id run.ID) (shown inbound.ShownRun, err error) {
	if err = who.May(tenant.ReadRuns); err != nil {
		return shown, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if shown = s.shown(r); !r.Logged() {
			return nil
		}
		history, err := st.Runs.Runs.History(ctx, who.Scope, id, 0)
		shown.Logs = r.Logs(history)
		return err
	})
	return shown, err
}

func (s *Service) shown(r *run.Run) inbound.ShownRun {
	return inbound.ShownRun{Run: r, Tokens: r.Tokens(s.key.Secret(r.ID()))}
}

// Cancel ends a run.
func (s *Service) Cancel(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, reason string) (run.Summary, error) {
	if err := who.May(tenant.CancelRun); err != nil {
		return run.Summary{}, err
	}
	if err := run.CheckReason(reason); err != nil {
		return run.Summary{}, err
	}
	return s.change(ctx, who, idempotency, id, func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		if plan == nil {
			return r.Abandon(at, reason), nil
		}
		return s.advance(run.CancelRequested{Reason: reason}, nil)(r, plan, at)
	})
}

// Retry continues a failed run.
func (s *Service) Retry(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID) (run.Summary, error) {
	if err := who.May(tenant.RetryRun); err != nil {
		return run.Summary{}, err
	}
	return s.change(ctx, who, idempotency, id, func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		return execution.Retry(r, plan, s.event(r, at, nil))
	})
}

func (s *Service) change(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, happens changeFunc) (run.Summary, error) {
	r, err := s.apply(ctx, who.Scope, idempotency, id, happens, func(r *run.Run) any { return r.Summary() })
	if err != nil {
		return run.Summary{}, err
	}
	return r.Summary(), nil
}
