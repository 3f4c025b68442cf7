package core

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ outbound.Keysets = (*Unit)(nil)

// Keyset reads the keyset of the database.
func (u *Unit) Keyset(ctx context.Context) (outbound.Keyset, error) {
	var rows []struct {
		Revision  int64     `db:"revision"`
		Wrapped   string    `db:"wrapped"`
		RotatedAt time.Time `db:"rotated_at"`
		Rotating  bool      `db:"is_rotating"`
		Complete  bool      `db:"is_complete"`
		Now       Instant   `db:"now"`
	}
	err := u.ReadRows(ctx, "get the keyset", &rows, `SELECT revision, wrapped, rotated_at, is_rotating, is_complete, `+u.store.dialect.Clock+` AS now FROM secret_keyset`)
	if err != nil || len(rows) == 0 {
		return outbound.Keyset{}, err
	}
	row := rows[0]
	wrapped, err := base64.StdEncoding.DecodeString(row.Wrapped)
	if err != nil {
		return outbound.Keyset{}, domain.Fail(domain.Unavailable, "encryption_key_wrong",
			"The keyset in the database is damaged. Whoever operates the gateway restores it from a backup.").Because(err)
	}
	return outbound.Keyset{
		Revision: row.Revision, Wrapped: wrapped, Rotating: row.Rotating, Complete: row.Complete, Age: row.Now.Sub(row.RotatedAt.UTC()),
	}, nil
}

var errKeysetMade = errors.New("another unit made the first keyset")

// InsertKeyset keeps the first keyset.
func (u *Unit) InsertKeyset(ctx context.Context, wrapped []byte) error {
	n, err := u.Exec(ctx, "insert the keyset", `INSERT INTO secret_keyset (id, revision, wrapped, rotated_at, is_rotating, is_complete)
		SELECT 1, 1, $1, `+u.store.dialect.Clock+`, false, false WHERE true ON CONFLICT (id) DO NOTHING`, base64.StdEncoding.EncodeToString(wrapped))
	if err == nil && n == 0 {
		return u.Fail(&Collision{Cause: errKeysetMade})
	}
	return err
}

// BeginRotation keeps a keyset with a new key.
func (u *Unit) BeginRotation(ctx context.Context, from int64, wrapped []byte) error {
	n, err := u.Exec(ctx, "keep the new keyset", `UPDATE secret_keyset SET wrapped = $1, rotated_at = `+u.store.dialect.Clock+`, is_rotating = true, is_complete = false,
		revision = revision + 1 WHERE revision = $2`, base64.StdEncoding.EncodeToString(wrapped), from)
	return u.checkKeyset(n, err)
}

// EndRotation keeps a keyset by which everything is sealed.
func (u *Unit) EndRotation(ctx context.Context, from int64, wrapped []byte) error {
	n, err := u.Exec(ctx, "keep the pruned keyset", `UPDATE secret_keyset SET wrapped = $1, is_rotating = false, is_complete = true,
		revision = revision + 1 WHERE revision = $2`, base64.StdEncoding.EncodeToString(wrapped), from)
	return u.checkKeyset(n, err)
}

func (u *Unit) checkKeyset(n int64, err error) error {
	if err == nil && n == 0 {
		return u.Fail(domain.Fail(domain.Conflict, "stale_revision", "Somebody else changed the keyset in the meantime."))
	}
	return err
}
