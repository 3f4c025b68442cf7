package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/audit"
	application "github.com/sluicehq/sluice/application/secrets"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// openSecrets has the store encrypt secrets with the configured key. A database that is up to date and has no keyset
// gets one where there is a key, which SQLite's makes for itself.
func (c config) openSecrets(ctx context.Context, store *sqlstore.Store) (inbound.Secrets, error) {
	return c.openSecretsWith(ctx, store, false)
}

// openSecretsWith does the same. lost says that the key is gone, and that another one may take its place.
func (c config) openSecretsWith(ctx context.Context, store *sqlstore.Store, lost bool) (inbound.Secrets, error) {
	var found outbound.Keyset
	err := store.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Secrets.Keyset(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	wrapper, err := c.keyWrapper(found.Revision > 0 && !lost)
	if err != nil {
		return nil, err
	}
	cipher := secrets.New(wrapper)
	store.Cipher = cipher
	service := application.New(audit.NewWork(store, system.Clock{}, system.Random{}), cipher)
	if wrapper == nil {
		return service, nil
	}
	return service, service.Prepare(ctx)
}

// keyWrapper returns what opens the keyset; nil where there is no key, and none needed yet.
func (c config) keyWrapper(needed bool) (outbound.KeyWrapper, error) {
	db, err := databaseOf(c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if c.EncryptionKey != "" {
		return secrets.ParseKey(c.EncryptionKey)
	}
	if db.sqliteFile != "" {
		file := db.sqliteFile + ".key"
		key, err := secrets.KeyFile(file, !needed)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the secrets in %s are encrypted, and the file with their key is gone: %s; restore it from its backup (if it is lost: sluice secrets replace-key)", db, file)
		}
		return key, err
	}
	if needed {
		return nil, fmt.Errorf("the secrets in %s are encrypted, and there is no key for them; set SLUICE_ENCRYPTION_KEY or SLUICE_ENCRYPTION_KEY_FILE to the one that they were encrypted with (if it is lost: sluice secrets replace-key)", db)
	}
	return nil, nil //nolint:nilnil // there is none
}

// warnOfSecrets says at the start what the operator has to know of the encryption of secrets.
func warnOfSecrets(ctx context.Context, log zerolog.Logger, store *sqlstore.Store, all inbound.Secrets) {
	seals := false
	err := store.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		seals, err = st.Secrets.CanSeal(ctx)
		return err
	})
	switch {
	case err == nil && seals:
	case err == nil:
		log.Warn().Msg("the secrets in the database are not encrypted, since there is no key: set SLUICE_ENCRYPTION_KEY to what sluice secrets generate-key prints, in all processes, and the gateway encrypts them")
	case errors.Is(err, outbound.ErrKeyMissing):
		log.Warn().Msg("there is no key to encrypt secrets with: what needs one is refused until SLUICE_ENCRYPTION_KEY is set to what sluice secrets generate-key prints, in all processes")
	case errors.Is(err, outbound.ErrWrongKey):
		unreadable := 0
		if found, err := all.Check(ctx); err == nil {
			unreadable = len(found.Unreadable)
		}
		log.Error().Int("secrets", unreadable).Msg("the secrets in the database were encrypted with another key than SLUICE_ENCRYPTION_KEY, and cannot be decrypted: set it to that one; sluice secrets check lists them")
	default:
		log.Warn().Err(err).Msg("it is not known whether secrets can be encrypted")
	}
}
