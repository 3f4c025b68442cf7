package core

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/ports/outbound"
)

var errGatewayKeyMade = errors.New("another unit made the key of the gateway")

// GatewayKey returns the bits of a key that all processes share. See outbound.SecretRepository.
func (u *Unit) GatewayKey(ctx context.Context, name string, proposed []byte) ([]byte, error) {
	of := outbound.SecretField{Record: name, Field: "bits"}
	var kept string
	err := u.ReadRow(ctx, "get the key of "+name, &kept, `SELECT bits FROM gateway_keys WHERE name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		if kept, err = u.SealTextOf01(ctx, hex.EncodeToString(proposed), of); err != nil {
			return nil, err
		}
		n, err := u.Exec(ctx, "keep the key of "+name, `INSERT INTO gateway_keys (name, bits) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, kept)
		if err == nil && n == 0 {
			return nil, u.Fail(&Collision{Cause: errGatewayKeyMade})
		}
		return proposed, err
	}
	if err != nil {
		return nil, err
	}
	text, err := u.OpenTextOf01(ctx, kept, of)
	if err != nil {
		return nil, err
	}
	bits, err := hex.DecodeString(text)
	if err != nil || len(bits) != len(proposed) {
		return nil, fmt.Errorf("the key of %s is damaged: it has %d characters and should have %d hexadecimal digits", name, len(text), 2*len(proposed))
	}
	return bits, nil
}
