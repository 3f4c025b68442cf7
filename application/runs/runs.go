package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Runs and inbound.Trying.
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
	budgets   outbound.Budgets
	allowance *execution.Allowance
	attempts  execution.Attempts // without a runner nodes that compute are left open in simulations
}

var (
	_ inbound.Runs   = (*Service)(nil)
	_ inbound.Trying = (*Service)(nil)
)

// New returns the service.
func New(work outbound.UnitOfWork, directory outbound.Directory, compiler run.Compiler, signals outbound.RunSignals,
	clock outbound.Clock, random outbound.Random, key run.Key, budgets outbound.Budgets, allowance *execution.Allowance,
) *Service {
	return &Service{
		work: work, directory: directory, plans: execution.NewPlans(work, directory, compiler, budgets, 0), computing: execution.NewComputing(budgets), signals: signals,
		clock: clock, random: random, key: key, followers: newFollowers(work, signals), budgets: budgets,
		allowance: allowance,
	}
}

// WithCredentials has calls bear what connections give out. It returns the service.
func (s *Service) WithCredentials(credentials outbound.Credentials) *Service {
	s.attempts.Credentials = credentials
	return s
}

// WithNodes has tests execute nodes, and simulations compute. It returns the service.
func (s *Service) WithNodes(runner outbound.NodeRunner, endpoints outbound.NodeEndpoints) *Service {
	s.attempts.Nodes, s.attempts.Endpoints = runner, endpoints
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
	if !answers(who) {
		found.Items = slices.Clone(found.Items) // which the store may keep
		for i, one := range found.Items {
			found.Items[i] = one.WithoutLinks()
		}
	}
	return found, err
}

// Get returns a run with the tokens that resume it.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id run.ID) (shown inbound.ShownRun, err error) {
	if err = who.May(tenant.ReadRuns); err != nil {
		return shown, err
	}
	shown, err = s.get(ctx, who, id)
	if err != nil || !s.isKept(shown.Run) {
		return shown, err
	}
	s.awaitRecord(ctx, outbound.RunKey{Scope: who.Scope, Run: id})
	return s.get(ctx, who, id)
}

func (s *Service) get(ctx context.Context, who tenant.Caller, id run.ID) (shown inbound.ShownRun, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if shown = s.shown(who, r); !r.Logged() {
			return nil
		}
		shown.Logs = make(map[workflow.NodeID][]string)
		for after, more := int64(0), true; more && after < r.Seq(); {
			var history []run.Entry
			if history, more, err = st.Runs.Runs.History(ctx, who.Scope, id, after); err != nil {
				return err
			}
			if n := len(history); n > 0 {
				after = history[n-1].Seq
			}
			r.AddLogs(shown.Logs, history)
		}
		return nil
	})
	if !answers(who) {
		for of, lines := range shown.Logs {
			shown.Logs[of] = run.HideLinks(lines)
		}
	}
	return shown, err
}

// Inputs computes what flowed into nodes.
func (s *Service) Inputs(ctx context.Context, who tenant.Caller, r *run.Run, most int) (inputs map[workflow.NodeID]run.ShownInput, size int) {
	if who.May(tenant.ReadRuns) != nil || r.StartedAt() == nil {
		return nil, 0
	}
	plan, err := s.plans.Of(ctx, r.Tenant(), r.Source())
	if errors.Is(err, domain.NotFound) {
		return r.OmitInputs(run.InputVersionGone), 0
	}
	if err == nil {
		memory := s.computing.Demand(int64(r.Size()))
		err = s.computing.Do(ctx, r.Tenant(), memory, func() { inputs, size, err = r.ShownInputs(plan, most) })
	}
	if err != nil || inputs == nil {
		return r.OmitInputs(run.InputBusy), 0
	}
	if !answers(who) {
		for of, one := range inputs {
			inputs[of] = one.WithoutLinks()
		}
	}
	return inputs, size
}

// answers says whether the caller may end what a run waits for. Resume tokens and links to answers are for nobody else.
func answers(who tenant.Caller) bool { return who.May(tenant.AnswerPause) == nil }

// shown is a run as a caller sees it.
func (s *Service) shown(who tenant.Caller, r *run.Run) inbound.ShownRun {
	if !answers(who) {
		return inbound.ShownRun{Run: r.WithoutLinks()}
	}
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
