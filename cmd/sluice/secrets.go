package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	application "github.com/sluicehq/sluice/application/secrets"
	"github.com/sluicehq/sluice/ports/outbound"
)

// openSecrets has the store encrypt secrets with the configured key. A database that is up to date and has no keyset
// gets one where there is a key, which SQLite's makes for itself.
func (c config) openSecrets(ctx context.Context, store *sqlstore.Store) error {
	var found outbound.Keyset
	err := store.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Secrets.Keyset(ctx)
		return err
	})
	if err != nil {
		return err
	}
	wrapper, err := c.keyWrapper(found.Revision > 0)
	if err != nil {
		return err
	}
	cipher := secrets.New(wrapper)
	store.Cipher = cipher
	if wrapper == nil {
		return nil
	}
	return application.New(store, cipher).Prepare(ctx)
}

// keyWrapper returns what opens the keyset; nil where there is no key, and none needed yet.
func (c config) keyWrapper(needed bool) (outbound.KeyWrapper, error) {
	db, err := databaseOf(c.DatabaseURL)
	switch {
	case err != nil:
		return nil, err
	case c.EncryptionKey != "":
		return secrets.ParseKey(c.EncryptionKey)
	case db.sqliteFile != "":
		file := db.sqliteFile + ".key"
		key, err := secrets.KeyFile(file, !needed)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the secrets in %s are encrypted, and the file with their key is gone: %s; restore it from its backup", db, file)
		}
		return key, err
	case needed:
		return nil, fmt.Errorf("the secrets in %s are encrypted, and there is no key for them; set SLUICE_ENCRYPTION_KEY or SLUICE_ENCRYPTION_KEY_FILE to the one that they were encrypted with", db)
	default:
		return nil, nil
	}
}
