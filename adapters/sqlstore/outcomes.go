package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type outcomes struct{ *unit }

var _ outbound.IdempotencyRepository = outcomes{}

var errKeyTaken = errors.New("another unit recorded an outcome under the same idempotency key")

// Claim looks for a recorded outcome.
func (s outcomes) Claim(ctx context.Context, owner tenant.ID, once domain.IdempotencyKey, now time.Time) error {
	if !once.Wanted() {
		return nil
	}
	return s.claim(ctx, once, s.store.dialect.ClaimOutcome, string(owner), once.Scope, once.Key, now.Add(-domain.IdempotencyRetention))
}

// claim looks for an outcome by a statement of the dialect.
func (u *unit) claim(ctx context.Context, once domain.IdempotencyKey, statement string, args ...any) error {
	var row struct {
		Free        bool    `db:"free"`
		Fingerprint *string `db:"fingerprint"`
		Answer      []byte  `db:"answer"`
	}
	err := u.ReadRow(ctx, "claim idempotency key", &row, statement, args...)
	switch {
	case err != nil:
		return err
	case row.Fingerprint != nil:
		return once.CheckReplay(*row.Fingerprint, row.Answer)
	case !row.Free:
		return domain.OnceInProgress()
	default:
		return nil
	}
}

// Record records the outcome, in the place of one that has expired.
func (s outcomes) Record(ctx context.Context, owner tenant.ID, once domain.IdempotencyKey, outcome any, now time.Time) error {
	if !once.Wanted() {
		return nil
	}
	return s.keep(once, outcome, func(answer []byte) (int64, error) {
		return s.Exec(ctx, "keep idempotent outcome", `INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (tenant_id, scope, key) DO UPDATE
			SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
			WHERE outcomes.created_at <= $7`,
			string(owner), once.Scope, once.Key, once.Fingerprint, answer, now, now.Add(-domain.IdempotencyRetention))
	})
}

// keep renders an outcome and records it by insert, which returns how many it wrote: none
// where another unit was faster.
func (u *unit) keep(once domain.IdempotencyKey, outcome any, insert func(answer []byte) (int64, error)) error {
	answer, err := once.Answer(outcome)
	if err != nil {
		return u.Fail(err)
	}
	n, err := insert(answer)
	if err == nil && n == 0 {
		return u.Fail(&core.Collision{Cause: errKeyTaken})
	}
	return err
}

// Amend replaces the answer of a recorded outcome.
func (s outcomes) Amend(ctx context.Context, owner tenant.ID, once domain.IdempotencyKey, outcome any) error {
	if !once.Wanted() {
		return nil
	}
	answer, err := once.Answer(outcome)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "amend idempotent outcome", `UPDATE outcomes SET answer = $1
		WHERE tenant_id = $2 AND scope = $3 AND key = $4 AND fingerprint = $5`,
		answer, string(owner), once.Scope, once.Key, once.Fingerprint)
	return err
}

// Sweep removes old outcomes.
func (s outcomes) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep idempotent outcomes", `DELETE FROM outcomes WHERE (tenant_id, scope, key) IN (
			SELECT tenant_id, scope, key FROM outcomes WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, before, limit)
	return int(n), err
}
