package sqlstore

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/ports/outbound"
)

type secrets struct{ *unit }

var _ outbound.SecretRepository = secrets{}

var errKeysetMade = errors.New("another unit made the first keyset")

// InsertKeyset keeps the first keyset.
func (s secrets) InsertKeyset(ctx context.Context, wrapped []byte) error {
	n, err := s.Exec(ctx, "insert the keyset", `INSERT INTO secret_keyset (id, revision, wrapped, rotated_at, sealed_all)
		SELECT 1, 1, $1, `+s.store.dialect.Clock+`, false WHERE true ON CONFLICT (id) DO NOTHING`, base64.StdEncoding.EncodeToString(wrapped))
	if err == nil && n == 0 {
		return s.Fail(&core.Collision{Cause: errKeysetMade})
	}
	return err
}
