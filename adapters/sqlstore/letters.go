package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type letters struct{ *unit }

var (
	_ outbound.LetterRepository = letters{}
	_ outbound.Ended            = letters{}
)

// Insert adds a letter.
func (s letters) Insert(ctx context.Context, l member.Letter, due time.Time) error {
	_, err := s.Exec(ctx, "insert letter", `INSERT INTO letters (id, recipient, purpose, inviting, attempts, due_at, ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		string(l.ID), string(l.To), string(l.Purpose), string(l.Inviting), l.Attempts, due, l.EndsAt)
	return err
}

// Claim takes the letter that is due for longest.
func (s letters) Claim(ctx context.Context, now, until time.Time) (l member.Letter, ok bool, err error) {
	var rows []struct {
		ID       string    `db:"id"`
		To       string    `db:"recipient"`
		Purpose  string    `db:"purpose"`
		Inviting string    `db:"inviting"`
		Attempts int       `db:"attempts"`
		EndsAt   time.Time `db:"ends_at"`
	}
	err = s.ReadRows(ctx, "claim letter", &rows, `UPDATE letters SET attempts = attempts + 1, due_at = $2 WHERE id IN (
			SELECT id FROM letters WHERE due_at <= $1 ORDER BY due_at, id LIMIT 1`+s.store.dialect.ClaimRows+`)
		RETURNING id, recipient, purpose, inviting, attempts, ends_at`, now, until)
	if err != nil || len(rows) == 0 {
		return l, false, err
	}
	row := rows[0]
	return member.Letter{
		ID: member.LetterID(row.ID), To: member.Email(row.To), Purpose: member.Purpose(row.Purpose), Inviting: tenant.ID(row.Inviting), Attempts: row.Attempts, EndsAt: row.EndsAt.UTC(),
	}, true, nil
}

// Postpone says when to try again. The number of attempts tells a claim from later ones.
func (s letters) Postpone(ctx context.Context, claimed member.Letter, due time.Time) error {
	_, err := s.Exec(ctx, "postpone letter", `UPDATE letters SET due_at = $1 WHERE id = $2 AND attempts = $3`, due, string(claimed.ID), claimed.Attempts)
	return err
}

// Delete removes a letter.
func (s letters) Delete(ctx context.Context, claimed member.Letter) error {
	_, err := s.Exec(ctx, "delete letter", `DELETE FROM letters WHERE id = $1 AND attempts = $2`, string(claimed.ID), claimed.Attempts)
	return err
}

// Sweep removes letters that have ended.
func (s letters) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.Exec(ctx, "sweep letters", `DELETE FROM letters WHERE id IN (SELECT id FROM letters WHERE ends_at < $1 ORDER BY ends_at LIMIT $2)`, before, limit)
	return int(n), err
}
