package runs

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Resume continues a run by its token. Whether the run exists is told only to who has a
// token of it.
func (s *Service) Resume(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.ResumeCall) error {
	if err := who.May(tenant.ResumeRun); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	resumed := func(r *run.Run, plan *run.Plan, at time.Time) (run.Step, error) {
		return s.advance(run.Resumed{Token: c.Token, Input: c.Input, By: new(who.Actor())}, r.RefuseToken(c.Token))(r, plan, at)
	}
	_, err := s.apply(ctx, who.Scope, idempotency, c.Run, resumed, func(*run.Run) any { return nil })
	if errors.Is(err, domain.NotFound) {
		return run.UnknownToken()
	}
	return err
}
