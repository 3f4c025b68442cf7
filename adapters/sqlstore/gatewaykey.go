package sqlstore

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/sluicehq/sluice/domain/run"
)

// RunKey returns the key from which the secrets of runs are derived. The first call on
// a database keeps the proposed one; every other call, in any process, returns that.
func (s *Store) RunKey(ctx context.Context, proposed run.Key) (key run.Key, err error) {
	const name = "runs"
	db := s.writer.db
	_, err = db.ExecContext(ctx, db.Rebind(`INSERT INTO gateway_keys (name, bits) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`),
		name, hex.EncodeToString(proposed[:]))
	if err != nil {
		return key, s.reached(ctx, fmt.Errorf("keep the key of runs: %w", err))
	}
	var kept string
	if err = db.GetContext(ctx, &kept, db.Rebind(`SELECT bits FROM gateway_keys WHERE name = ?`), name); err != nil {
		return key, s.reached(ctx, fmt.Errorf("read the key of runs: %w", err))
	}
	bits, err := hex.DecodeString(kept)
	if err != nil || len(bits) != len(key) {
		return key, fmt.Errorf("the key of runs is damaged: it has %d characters and should have %d hexadecimal digits", len(kept), 2*len(key))
	}
	return run.Key(bits), nil
}
