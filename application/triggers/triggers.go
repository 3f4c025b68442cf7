// Package triggers implements inbound.Triggers.
package triggers

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How many triggers are added together: at most, and so that a batch goes next to another
// one. Two small batches at the same time cost more than one that is large.
//
// A batch has no deadline. The driver would start a goroutine for each, and cannot hold it
// against a database that is silent; locks and the network have bounds of their own.
const (
	maxBatch    = 128
	minWhenBusy = 64
)

// Service implements inbound.Triggers.
type Service struct {
	work      outbound.UnitOfWork
	directory outbound.Directory
	language  workflow.Expressions
	inserts   *batch.Batcher[*outbound.NewTrigger]
	limiter   outbound.Limiter
	clock     outbound.Clock
	random    outbound.Random
}

var _ inbound.Triggers = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, directory outbound.Directory, inserts outbound.TriggerInserter, language workflow.Expressions,
	limiter outbound.Limiter, clock outbound.Clock, random outbound.Random,
) *Service {
	limits := batch.Limits{Members: maxBatch, Running: inserts.Parallel(), MinWhenBusy: minWhenBusy}
	return &Service{work: work, directory: directory, language: language, inserts: batch.New(limits, nil, inserts.Insert), limiter: limiter, clock: clock, random: random}
}

// Create attaches a trigger to a version of a workflow.
func (s *Service) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d trigger.Draft) (trg *trigger.Trigger, err error) {
	if err = who.May(tenant.CreateTrigger); err != nil {
		return nil, err
	}
	if d, err = s.withPublicKeyRules(ctx, who, idempotency, d); err != nil {
		return nil, err
	}
	if d.Config != nil {
		d.Malformed = append(d.Malformed, trigger.CheckExpressions(*d.Config, s.language)...)
	}
	now := s.clock.Now()
	id := trigger.ID(s.random.ID(trigger.IDPrefix))
	if trg, done, err := s.createInBatch(ctx, who, idempotency, id, d, now); done || err != nil {
		return trg, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		around, err := s.surroundings(ctx, st, who, d)
		if err != nil {
			return err
		}
		if trg, err = trigger.New(id, who.Tenant(), around, d, now); err != nil {
			return err
		}
		if err := st.Processes.Require(ctx, levelOf(trg)); err != nil {
			return err
		}
		if err := st.Triggers.Insert(ctx, trg); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, trg, now)
	})
	if err != nil {
		return nil, err
	}
	return trg, nil
}

// createInBatch creates a trigger the fast way, together with those of other requests. It
// is not done where anything is out of the ordinary; the unit of work finds out what.
func (s *Service) createInBatch(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id trigger.ID, d trigger.Draft, now time.Time) (*trigger.Trigger, bool, error) {
	belongs, err := s.directory.VersionParent(ctx, who.Scope, d.Version)
	if err != nil {
		return nil, false, nil //nolint:nilerr // the unit meets it again
	}
	around := trigger.References{VersionExists: true, SubTenant: belongs.SubTenant, Settings: who.Settings}
	trg, err := trigger.New(id, who.Tenant(), around, d, now)
	if err != nil || levelOf(trg) > 0 {
		return nil, false, nil //nolint:nilerr // the unit meets it again, after it has looked for an earlier outcome
	}
	added := &outbound.NewTrigger{Trigger: trg, IdempotencyKey: idempotency}
	if idempotency.Wanted() {
		if added.Answer, err = idempotency.Answer(trg); err != nil {
			return nil, false, err
		}
	}
	if act, ok := inbound.ActOf(ctx); ok {
		added.Act = &act
	}
	if err := s.inserts.Do(ctx, added); err != nil || !added.Added {
		return nil, false, err
	}
	return trg, true, nil
}

// levelOf is what all processes must have before the trigger is kept: any of them may fire it.
func levelOf(trg *trigger.Trigger) process.Level {
	if trg.Config().Selects() {
		return process.SecondRelease
	}
	return 0
}

// surroundings looks up what the trigger refers to.
func (s *Service) surroundings(ctx context.Context, st outbound.Stores, who tenant.Caller, d trigger.Draft) (trigger.References, error) {
	belongs, err := st.Versions.Parent(ctx, who.Scope, d.Version)
	around := trigger.References{VersionExists: err == nil, SubTenant: belongs.SubTenant, Settings: who.Settings}
	if errors.Is(err, domain.NotFound) {
		return around, nil
	}
	return around, err
}

// withPublicKeyRules applies what a tenant permits its public keys: webhook triggers that are
// created inactive, a few a minute. For a secret key it changes nothing.
func (s *Service) withPublicKeyRules(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d trigger.Draft) (trigger.Draft, error) {
	if who.KeyType != tenant.Public {
		return d, nil
	}
	if d.Type != trigger.Webhook {
		return d, domain.Fail(domain.Forbidden, "public_trigger_type",
			"With a public key only triggers of type webhook can be created. Use a secret key for others.")
	}
	if d.Active != nil && *d.Active {
		return d, domain.Fail(domain.Forbidden, "public_trigger_active",
			"With a public key triggers are created inactive. Activate them with a secret key.")
	}
	// A repeat gets its answer, and is not one of those that are counted.
	err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Claim(ctx, who.Tenant(), idempotency, s.clock.Now())
	})
	if err != nil {
		return d, err
	}
	inactive := false
	d.Active = &inactive
	left, err := s.limiter.Allow(ctx, string(who.Tenant())+"/public-triggers", tenant.PublicTriggersPerMinute, time.Minute)
	if err != nil || left.Granted {
		return d, err
	}
	e := domain.Fail(domain.RateLimited, "rate_limit_exceeded",
		"Rate limit exceeded: %d triggers a minute with public keys. Try again in %d seconds.",
		tenant.PublicTriggersPerMinute, int(math.Ceil(left.RetryAfter.Seconds())))
	e.RetryAfter = left.RetryAfter
	return d, e
}
