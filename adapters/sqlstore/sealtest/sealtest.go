// Package sealtest has the stores of tests encrypt secrets.
package sealtest

import (
	"context"
	"sync"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/ports/outbound"
)

// key is that of all stores of the process, so that one that is closed can be opened again.
var key = sync.OnceValues(func() (*secrets.Local, error) { return secrets.ParseKey(secrets.GenerateKey()) })

// Seal has a store whose schema is up to date encrypt secrets. It is called before the store is used.
func Seal(ctx context.Context, store *sqlstore.Store) error {
	local, err := key()
	if err != nil {
		return err
	}
	cipher := secrets.New(local)
	store.Cipher = cipher
	return store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Secrets.Keyset(ctx)
		if err != nil || found.Revision > 0 {
			return err
		}
		wrapped, err := cipher.Make(ctx)
		if err != nil {
			return err
		}
		return st.Secrets.InsertKeyset(ctx, wrapped)
	})
}
