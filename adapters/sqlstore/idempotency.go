package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type idempotency struct{ *unit }

var _ outbound.IdempotencyRepository = idempotency{}

var errKeyTaken = errors.New("another unit recorded an outcome under the same idempotency key")

// Claim looks for a recorded outcome.
func (s idempotency) Claim(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, now time.Time) error {
	if !idempotency.Wanted() {
		return nil
	}
	return s.claim(ctx, answerOf(owner, idempotency), idempotency, now, s.store.dialect.ClaimIdempotencyKey, string(owner), idempotency.Scope, idempotency.Key, now.Add(-domain.IdempotencyRetention))
}

// claim looks for an outcome by a statement of the dialect.
func (u *unit) claim(ctx context.Context, of outbound.SecretField, idempotency domain.IdempotencyKey, now time.Time, statement string, args ...any) error {
	var row struct {
		Free            bool       `db:"free"`
		Fingerprint     *string    `db:"fingerprint"`
		Answer          []byte     `db:"answer"`
		InProgressUntil *time.Time `db:"in_progress_until"`
	}
	err := u.ReadRow(ctx, "claim idempotency key", &row, statement, args...)
	switch {
	case err != nil:
		return err
	case row.Fingerprint != nil && (row.InProgressUntil == nil || *row.Fingerprint != idempotency.Fingerprint || !now.Before(*row.InProgressUntil)):
		answer, err := u.OpenOf01(ctx, row.Answer, of)
		if err != nil {
			return err
		}
		return idempotency.CheckReplay(*row.Fingerprint, answer)
	case row.Fingerprint != nil || !row.Free:
		return domain.OnceInProgress()
	default:
		return nil
	}
}

// Record records the outcome, in the place of one that has expired.
func (s idempotency) Record(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now time.Time) error {
	return s.insert(ctx, owner, idempotency, outcome, now, nil)
}

// Begin records what came of the command if its end is never recorded.
func (s idempotency) Begin(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now, until time.Time) error {
	return s.insert(ctx, owner, idempotency, outcome, now, &until)
}

func (s idempotency) insert(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now time.Time, until *time.Time) error {
	if !idempotency.Wanted() {
		return nil
	}
	return s.recordOutcome(ctx, answerOf(owner, idempotency), idempotency, outcome, func(answer []byte) (int64, error) {
		return s.Exec(ctx, "keep idempotent outcome", `INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at, in_progress_until)
			VALUES ($1, $2, $3, $4, $5, $6, $8)
			ON CONFLICT (tenant_id, scope, key) DO UPDATE
			SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at, in_progress_until = excluded.in_progress_until
			WHERE outcomes.created_at <= $7`,
			string(owner), idempotency.Scope, idempotency.Key, idempotency.Fingerprint, answer, now, now.Add(-domain.IdempotencyRetention), until)
	})
}

// recordOutcome renders an outcome and records it by insert, which returns how many it wrote: none
// where another unit was faster.
func (u *unit) recordOutcome(ctx context.Context, of outbound.SecretField, idempotency domain.IdempotencyKey, outcome any, insert func(answer []byte) (int64, error)) error {
	answer, err := u.render(ctx, of, idempotency, outcome)
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
func (s idempotency) Amend(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any) error {
	if !idempotency.Wanted() {
		return nil
	}
	answer, err := s.render(ctx, answerOf(owner, idempotency), idempotency, outcome)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "amend idempotent outcome", `UPDATE outcomes SET answer = $1, in_progress_until = NULL
		WHERE tenant_id = $2 AND scope = $3 AND key = $4 AND fingerprint = $5`,
		answer, string(owner), idempotency.Scope, idempotency.Key, idempotency.Fingerprint)
	return err
}

// Sweep removes old outcomes.
func (s idempotency) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep idempotent outcomes", `DELETE FROM outcomes WHERE (tenant_id, scope, key) IN (
			SELECT tenant_id, scope, key FROM outcomes WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, before, limit)
	return int(n), err
}

// answerOf is where the answer to a command is kept; for the operator's the owner is empty. It is no sealed column: it
// goes before two rotations are likely to have come, and after them a repeat says that it cannot be decrypted.
func answerOf(owner tenant.ID, idempotency domain.IdempotencyKey) outbound.SecretField {
	return outbound.SecretField{Tenant: owner, Record: idempotency.Scope + " " + idempotency.Key, Field: "answer"}
}

// render renders an outcome, encrypted where it shows a secret.
func (u *unit) render(ctx context.Context, of outbound.SecretField, idempotency domain.IdempotencyKey, outcome any) ([]byte, error) {
	answer, err := idempotency.Answer(outcome)
	if err != nil || !showsSecret(answer) {
		return answer, err
	}
	return u.SealOf01(ctx, answer, of)
}

// showsSecret says whether an answer has something with the shape of a secret in it: of an API key, a signing secret
// or the address of a hook.
func showsSecret(answer []byte) bool {
	for _, mark := range []string{"sk_", "whsec_", "/h/"} {
		if bytes.Contains(answer, []byte(mark)) {
			return true
		}
	}
	return false
}
