package sqlstore

import (
	"context"

	"github.com/sluicehq/sluice/ports/outbound"
)

type secrets struct{ *unit }

var (
	_ outbound.SecretRepository = secrets{}
	_ outbound.SealedRepository = secrets{}
)

// ForgetKeys removes the gateway's own keys.
func (s secrets) ForgetKeys(ctx context.Context) error {
	_, err := s.Exec(ctx, "forget the gateway's keys", `DELETE FROM gateway_keys`)
	return err
}
