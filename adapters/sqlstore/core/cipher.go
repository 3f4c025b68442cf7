package core

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ outbound.Keysets = (*Unit)(nil)

// Keyset reads the keyset of the database.
func (u *Unit) Keyset(ctx context.Context) (outbound.Keyset, error) {
	var row struct {
		Revision int64  `db:"revision"`
		Wrapped  string `db:"wrapped"`
	}
	err := u.ReadRow(ctx, "get the keyset", &row, `SELECT coalesce(max(revision), 0) AS revision, coalesce(max(wrapped), '') AS wrapped FROM secret_keyset`)
	if err != nil || row.Revision == 0 {
		return outbound.Keyset{}, err
	}
	wrapped, err := base64.StdEncoding.DecodeString(row.Wrapped)
	if err != nil {
		return outbound.Keyset{}, damagedKeyset(err)
	}
	return outbound.Keyset{Revision: row.Revision, Wrapped: wrapped}, nil
}

func damagedKeyset(cause error) error {
	return domain.Fail(domain.Unavailable, "encryption_key_wrong", "The keyset in the database is damaged. Whoever operates the gateway restores it from a backup.").Because(cause)
}

// sealedPrefix begins a sealed value in a column of text.
const sealedPrefix = "sealed:"

// Seal encrypts what goes into a field, a column of bytes. See [outbound.Cipher].
func (u *Unit) Seal(ctx context.Context, plain []byte, of outbound.SecretField) ([]byte, error) {
	if u.store.Cipher == nil {
		return nil, u.Fail(outbound.ErrKeyMissing)
	}
	sealed, err := u.store.Cipher.Seal(ctx, u, plain, of)
	if err != nil {
		return nil, u.Fail(err)
	}
	return sealed, nil
}

// Open decrypts what Seal made of the field. It may send a query.
func (u *Unit) Open(ctx context.Context, sealed []byte, of outbound.SecretField) ([]byte, error) {
	if u.store.Cipher == nil {
		return nil, outbound.ErrKeyMissing
	}
	return u.store.Cipher.Open(ctx, u, sealed, of)
}

// SealText encrypts what goes into a field, a column of text.
func (u *Unit) SealText(ctx context.Context, plain string, of outbound.SecretField) (string, error) {
	sealed, err := u.Seal(ctx, []byte(plain), of)
	if err != nil {
		return "", err
	}
	return sealedPrefix + base64.StdEncoding.EncodeToString(sealed), nil
}

// OpenText decrypts what SealText made of the field. It may send a query.
func (u *Unit) OpenText(ctx context.Context, kept string, of outbound.SecretField) (string, error) {
	text, _ := strings.CutPrefix(kept, sealedPrefix)
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		sealed = nil // which the cipher refuses like everything that is no sealed value
	}
	plain, err := u.Open(ctx, sealed, of)
	return string(plain), err
}
