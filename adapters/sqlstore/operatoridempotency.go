package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

type operatorIdempotency struct{ *unit }

var _ outbound.OperatorIdempotencyRepository = operatorIdempotency{}

// Claim looks for a recorded outcome.
func (s operatorIdempotency) Claim(ctx context.Context, idempotency domain.IdempotencyKey, now time.Time) error {
	if !idempotency.Wanted() {
		return nil
	}
	return s.claim(ctx, answerOf("", idempotency), idempotency, now, s.store.dialect.ClaimOperatorIdempotencyKey, idempotency.Scope, idempotency.Key, now.Add(-domain.IdempotencyRetention))
}

// Record records the outcome, in the place of one that has expired.
func (s operatorIdempotency) Record(ctx context.Context, idempotency domain.IdempotencyKey, outcome any, now time.Time) error {
	if !idempotency.Wanted() {
		return nil
	}
	return s.recordOutcome(ctx, answerOf("", idempotency), idempotency, outcome, func(answer []byte) (int64, error) {
		return s.Exec(ctx, "keep outcome of the operator", `INSERT INTO operator_outcomes (scope, key, fingerprint, answer, created_at)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (scope, key) DO UPDATE
			SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
			WHERE operator_outcomes.created_at <= $6`,
			idempotency.Scope, idempotency.Key, idempotency.Fingerprint, answer, now, now.Add(-domain.IdempotencyRetention))
	})
}

// Sweep removes old outcomes.
func (s operatorIdempotency) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep outcomes of the operator", `DELETE FROM operator_outcomes WHERE (scope, key) IN (
			SELECT scope, key FROM operator_outcomes WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, before, limit)
	return int(n), err
}
