package core

import (
	"context"
	"encoding/hex"
	"fmt"
)

// GatewayKey returns the bits of a key that all processes share. The first call on a
// database keeps the proposed ones; every other call, in any process, returns those.
func (s *Store) GatewayKey(ctx context.Context, name string, proposed []byte) ([]byte, error) {
	db := s.writer.db
	_, err := db.ExecContext(ctx, db.Rebind(`INSERT INTO gateway_keys (name, bits) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`),
		name, hex.EncodeToString(proposed))
	if err != nil {
		return nil, s.reached(ctx, fmt.Errorf("keep the key of %s: %w", name, err))
	}
	var kept string
	if err = db.GetContext(ctx, &kept, db.Rebind(`SELECT bits FROM gateway_keys WHERE name = ?`), name); err != nil {
		return nil, s.reached(ctx, fmt.Errorf("read the key of %s: %w", name, err))
	}
	bits, err := hex.DecodeString(kept)
	if err != nil || len(bits) != len(proposed) {
		return nil, fmt.Errorf("the key of %s is damaged: it has %d characters and should have %d hexadecimal digits", name, len(kept), 2*len(proposed))
	}
	return bits, nil
}
