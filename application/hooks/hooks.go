// Package hooks implements what tenants do with hooks, and what third parties send to them.
package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Origin gives where the addresses of hooks are, without a slash at the end: https://hooks.example.com.
type Origin func() string

// Prefix stands before the token in the path of an address.
const Prefix = "/h/"

// Service implements inbound.Hooks, inbound.HookDeliveries and inbound.HookIntake.
type Service struct {
	work      outbound.UnitOfWork
	directory outbound.HookDirectory
	firing    inbound.HookFiring
	outcomes  inbound.RunOutcomes
	language  workflow.Expressions
	limiter   outbound.Limiter
	clock     outbound.Clock
	random    outbound.Random
	computing execution.Computing
	origin    Origin
	figures   *Figures
}

// New returns the service.
func New(work outbound.UnitOfWork, directory outbound.HookDirectory, firing inbound.HookFiring, outcomes inbound.RunOutcomes, language workflow.Expressions,
	limiter outbound.Limiter, clock outbound.Clock, random outbound.Random, budgets outbound.Budgets, origin Origin,
) *Service {
	return &Service{
		work: work, directory: directory, firing: firing, outcomes: outcomes, language: language, limiter: limiter, clock: clock, random: random,
		computing: execution.NewComputing(budgets), origin: origin, figures: newFigures(),
	}
}

// Figures count deliveries.
func (s *Service) Figures() *Figures { return s.figures }

func (s *Service) newToken() hook.Token {
	var entropy [hook.TokenEntropy]byte
	s.random.Fill(entropy[:])
	return hook.NewToken(entropy)
}

// Create gives a trigger a hook.
func (s *Service) Create(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, d hook.Draft) (made inbound.ShownHook, err error) {
	if err = who.May(tenant.CreateHook); err != nil {
		return made, err
	}
	now, token := s.clock.Now(), s.newToken()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), once, now); err != nil {
			return err
		}
		trg, err := st.Triggers.Get(ctx, who.Scope, of)
		if err != nil {
			return err
		}
		var lookup error
		h, err := hook.New(trg, d, token, s.checks(ctx, st, trg.Tenant(), trg.SubTenant(), &lookup), now)
		if err = errors.Join(lookup, err); err != nil {
			return err
		}
		if err := st.Hooks.Hooks.Insert(ctx, h); err != nil {
			return err
		}
		made = s.shownWhole(h, token)
		return st.Idempotency.Record(ctx, who.Tenant(), once, s.shown(h), now)
	})
	if err != nil {
		return inbound.ShownHook{}, err
	}
	return made, nil
}

// checks look up what a hook refers to. An error of the store goes to failed.
func (s *Service) checks(ctx context.Context, st outbound.Stores, owner tenant.ID, sub tenant.SubTenantID, failed *error) hook.Checks {
	return hook.Checks{
		Expression: func(r *domain.Rules, field, source string) {
			problem := s.language.Check(workflow.Source{Text: source, Roots: []workflow.Root{{Name: workflow.RootPayload}}}).Problem
			r.Check(problem == "", field, workflow.BadExpression, "must be an expression that compiles: %s", problem)
		},
		Secret: func(r *domain.Rules, field string, id connection.ID) {
			c, err := st.Connections.Get(ctx, tenant.All(owner), id)
			if err != nil && !errors.Is(err, domain.NotFound) {
				*failed = err
				return
			}
			if err != nil || !c.Serves(sub) {
				r.Check(false, field, domain.Unknown, "must be a connection that serves the trigger's workflow")
				return
			}
			r.Check(len(hook.SecretsOf(c)) > 0, field, domain.NotAllowed, "must be a connection of the kind %s", domain.OneOf(connection.HMAC, connection.Bearer, connection.Basic, connection.Header, connection.Query))
		},
	}
}

// find reads the hook of a trigger that is within reach.
func find(ctx context.Context, st outbound.Stores, scope tenant.Scope, of trigger.ID) (*hook.Hook, error) {
	if _, err := st.Triggers.Get(ctx, scope, of); err != nil {
		return nil, err
	}
	return st.Hooks.Hooks.Get(ctx, scope, of)
}

// Get returns the hook of a trigger.
func (s *Service) Get(ctx context.Context, who tenant.Caller, of trigger.ID) (shown inbound.ShownHook, err error) {
	if err = who.May(tenant.ReadHook); err != nil {
		return shown, err
	}
	h, err := s.read(ctx, who.Scope, of)
	if err != nil {
		return shown, err
	}
	return s.shown(h), nil
}

// shown has the address shortened, shownWhole as it is.
func (s *Service) shown(h *hook.Hook) inbound.ShownHook {
	_, retiring := h.RetiredUntil(s.clock.Now())
	return inbound.ShownHook{Hook: h, URL: s.origin() + Prefix + h.Hint(), Retiring: retiring}
}

func (s *Service) shownWhole(h *hook.Hook, token hook.Token) inbound.ShownHook {
	shown := s.shown(h)
	shown.URL = s.origin() + Prefix + token.Reveal()
	return shown
}

func (s *Service) read(ctx context.Context, scope tenant.Scope, of trigger.ID) (h *hook.Hook, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		h, err = find(ctx, st, scope, of)
		return err
	})
	return h, err
}

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, who tenant.Caller, of trigger.ID, at domain.Expected, p hook.Patch) (shown inbound.ShownHook, err error) {
	if err = who.May(tenant.ChangeHook); err != nil {
		return shown, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		h, err := find(ctx, st, who.Scope, of)
		if err != nil {
			return err
		}
		if err := at.Check(h.Revision()); err != nil {
			return err
		}
		var lookup error
		err = h.Revise(p, s.checks(ctx, st, h.Tenant(), h.SubTenant(), &lookup), s.clock.Now())
		if err = errors.Join(lookup, err); err != nil {
			return err
		}
		shown = s.shown(h)
		return st.Hooks.Hooks.Update(ctx, h)
	})
	return shown, err
}

// Delete removes a hook.
func (s *Service) Delete(ctx context.Context, who tenant.Caller, of trigger.ID, at domain.Expected) error {
	if err := who.May(tenant.DeleteHook); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		h, err := find(ctx, st, who.Scope, of)
		if err != nil {
			return err
		}
		if err := at.Check(h.Revision()); err != nil {
			return err
		}
		return st.Hooks.Hooks.Delete(ctx, who.Scope, of)
	})
}

// Rotate gives a hook another address.
func (s *Service) Rotate(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, graceSeconds int) (shown inbound.ShownHook, err error) {
	if err = who.May(tenant.RotateHook); err != nil {
		return shown, err
	}
	now, token := s.clock.Now(), s.newToken()
	grace := time.Duration(min(max(graceSeconds, -1), int(hook.MaxGrace.Seconds())+1)) * time.Second // what is beyond the bounds stays there
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), once, now); err != nil {
			return err
		}
		h, err := find(ctx, st, who.Scope, of)
		if err != nil {
			return err
		}
		if err := h.Rotate(token, grace, now); err != nil {
			return err
		}
		if err := st.Hooks.Hooks.Update(ctx, h); err != nil {
			return err
		}
		shown = s.shownWhole(h, token)
		return st.Idempotency.Record(ctx, who.Tenant(), once, s.shown(h), now)
	})
	if err != nil {
		return inbound.ShownHook{}, err
	}
	return shown, nil
}

// Test verifies a sample.
func (s *Service) Test(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, of trigger.ID, sample hook.Request) (e hook.Explanation, err error) {
	if err := who.May(tenant.TestHook); err != nil {
		return e, err
	}
	err = s.recorded(ctx, who, once, func() (any, error) {
		h, err := s.read(ctx, who.Scope, of)
		if err != nil {
			return nil, err
		}
		secrets, err := s.directory.Secrets(ctx, h)
		if err != nil {
			return nil, err
		}
		now := s.clock.Now()
		if sample.At = now; sample.Origin == "" {
			sample.Origin, sample.Address = s.origin(), Prefix+h.Hint()
		}
		e = h.Scheme().Explain(secrets, sample, now)
		return e, nil
	})
	return e, err
}

// recorded does something that has units of its own, or no effect, and records its outcome for repeats.
func (s *Service) recorded(ctx context.Context, who tenant.Caller, once domain.IdempotencyKey, do func() (outcome any, err error)) error {
	now := s.clock.Now()
	claim := func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Claim(ctx, who.Tenant(), once, now)
	}
	if once.Wanted() {
		if err := s.work.Read(ctx, claim); err != nil {
			return err
		}
	}
	outcome, err := do()
	if err != nil || !once.Wanted() {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := claim(ctx, st); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), once, outcome, now)
	})
}
