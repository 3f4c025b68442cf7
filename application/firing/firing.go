package firing

import (
	"cmp"
	"context"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Firing.
type Service struct {
	work       outbound.UnitOfWork
	directory  outbound.Directory
	plans      *execution.Plans
	selections *execution.Selections
	computing  execution.Computing
	signals    outbound.RunSignals
	limiter    outbound.Limiter
	clock      outbound.Clock
	random     outbound.Random
	key        run.Key
	allowance  *execution.Allowance
	calls      *callBatcher
	deliveries *deliveryBatcher
}

var (
	_ inbound.Firing     = (*Service)(nil)
	_ inbound.HookFiring = (*Service)(nil)
)

// New returns the service.
func New(work outbound.UnitOfWork, directory outbound.Directory, compiler run.Compiler, selections *execution.Selections, signals outbound.RunSignals,
	limiter outbound.Limiter, clock outbound.Clock, random outbound.Random, key run.Key, budgets outbound.Budgets, allowance *execution.Allowance,
) *Service {
	return &Service{
		work: work, directory: directory, plans: execution.NewPlans(work, directory, compiler, budgets, 0), selections: selections, computing: execution.NewComputing(budgets), signals: signals, limiter: limiter,
		clock: clock, random: random, key: key, allowance: allowance, calls: newCallBatcher(work, signals, allowance), deliveries: newDeliveryBatcher(work),
	}
}

// Call fires one trigger.
func (f *Service) Call(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id trigger.ID, c run.Call) (fired run.Fired, err error) {
	if err = who.May(tenant.FireTrigger); err != nil {
		return fired, err
	}
	if err = c.Check(); err != nil {
		return fired, err
	}
	ctx = outbound.WithLargeWrite(ctx, len(c.Payload()))
	s := f.newRequest(who, idempotency, c, run.CauseWebhook)
	defer func() { f.count(who.Tenant(), err, fired) }()
	if fired, done, err := f.calls.call(ctx, s, id); done || err != nil {
		return fired, err
	}
	err = s.fire(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Trigger(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if refused := run.CheckCall(found.Trigger, found.ParentState); refused != nil {
			if found.Started, err = s.startedBefore(ctx, st, found.Trigger); err != nil || found.Started == "" {
				return cmp.Or(err, refused)
			}
		}
		if fired, err = s.start(ctx, st, found); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, fired, s.now)
	})
	return fired, err
}

// count counts what was skipped.
func (f *Service) count(owner tenant.ID, err error, fired ...run.Fired) {
	for _, one := range fired {
		if err == nil && one.Skipped != "" {
			f.selections.Count(owner, one.Skipped)
		}
	}
}

// withinBudgets says why a call may not start a run of a trigger, which is asked of what would start one alone.
func (s *startRequest) withinBudgets(ctx context.Context, allowed *execution.UnitAllowance, found outbound.FiringTrigger) error {
	return allowed.Admit(ctx, s.who.Tenant(), found.Budgets, 1, found.StoredBytes, len(s.call.Payload())+s.delivery.size())
}

// ByEvent fires all triggers that listen for an event.
func (f *Service) ByEvent(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.EventCall) (fired []run.Fired, err error) {
	if err = who.May(tenant.FireTrigger); err != nil {
		return nil, err
	}
	if err = c.Check(); err != nil {
		return nil, err
	}
	all := &fanOut{request: f.newRequest(who, idempotency, c.Call, run.CauseByEvent), call: c, outcome: func(fired []run.Fired) any { return fired }}
	if err := all.startAll(ctx); err != nil {
		return nil, err
	}
	fired = all.answer(all.state)
	f.count(who.Tenant(), nil, fired...)
	return fired, nil
}
