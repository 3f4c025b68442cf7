package core

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/outbound"
)

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
func (u *Unit) SealText(ctx context.Context, plain []byte, of outbound.SecretField) (string, error) {
	sealed, err := u.Seal(ctx, plain, of)
	if err != nil {
		return "", err
	}
	return sealedText(sealed), nil
}

// OpenText decrypts what SealText made of the field. It may send a query.
func (u *Unit) OpenText(ctx context.Context, kept string, of outbound.SecretField) (string, error) {
	plain, err := u.Open(ctx, sealedBytes(kept), of)
	return string(plain), err
}

// A sealed value in a column of text is "sealed:", the number of its key in hexadecimal, a colon and the
// value in base64, so that those of a key are found by how they begin.
const sealedPrefix = "sealed:"

// textPrefix is what the text of a sealed value begins with whose bytes begin with the prefix.
func textPrefix(prefix []byte) string { return sealedPrefix + hex.EncodeToString(prefix) + ":" }

// keyPrefix is how many bytes of a sealed value name its key.
const keyPrefix = 5

func sealedText(sealed []byte) string {
	prefix := textPrefix(sealed[:min(keyPrefix, len(sealed))])
	var text strings.Builder
	text.Grow(len(prefix) + base64.StdEncoding.EncodedLen(len(sealed)))
	text.WriteString(prefix)
	to := base64.NewEncoder(base64.StdEncoding, &text) // which copies a large value less often than EncodeToString
	_, _ = to.Write(sealed)
	_ = to.Close() // a strings.Builder never fails
	return text.String()
}

// sealedBytes is nil for what is no sealed value, which the cipher refuses.
func sealedBytes(kept string) []byte {
	text, isSealed := strings.CutPrefix(kept, sealedPrefix)
	_, text, named := strings.Cut(text, ":")
	sealed, err := base64.StdEncoding.DecodeString(text)
	if !isSealed || !named || err != nil {
		return nil
	}
	return sealed
}

// sealedLevel is what a process needs to read sealed values where 0.1.0 has clear ones.
const sealedLevel = process.SecondRelease

// SealTextOf01 is SealText for a field that 0.1.0 reads as well: the value stays in clear while a process is alive
// that could not open it, and where there is no key in an installation that 0.1.0 has made.
func (u *Unit) SealTextOf01(ctx context.Context, plain string, of outbound.SecretField) (string, error) {
	seals, err := u.sealsOf01(ctx)
	if err != nil {
		return "", u.Fail(err)
	}
	if !seals {
		return plain, nil
	}
	return u.SealText(ctx, []byte(plain), of)
}

// OpenTextOf01 gives back what SealTextOf01 or 0.1.0 kept. It may send a query.
func (u *Unit) OpenTextOf01(ctx context.Context, kept string, of outbound.SecretField) (string, error) {
	if !strings.HasPrefix(kept, sealedPrefix) {
		return kept, nil
	}
	return u.OpenText(ctx, kept, of)
}

func (u *Unit) sealsOf01(ctx context.Context) (bool, error) {
	if u.store.Cipher == nil {
		return false, nil
	}
	hasKey, err := u.CanSeal(ctx)
	if err != nil || !hasKey {
		return false, err
	}
	return u.everyoneOpens(ctx)
}

// CanSeal says whether secrets are sealed: not in an installation that 0.1.0 has made, as long as there is no key.
// Without a key it is outbound.ErrKeyMissing in all others.
func (u *Unit) CanSeal(ctx context.Context) (bool, error) {
	if u.store.Cipher == nil {
		return false, nil
	}
	_, err := u.store.Cipher.Prefix(ctx, u)
	if !errors.Is(err, outbound.ErrKeyMissing) {
		return err == nil, err
	}
	var keys int
	if err := u.ReadRow(ctx, "find keys in clear", &keys, `SELECT count(*) FROM gateway_keys WHERE bits NOT LIKE '`+sealedPrefix+`%'`); err != nil {
		return false, err
	}
	if keys > 0 {
		return false, nil
	}
	return false, outbound.ErrKeyMissing
}

// everyoneOpens says whether all processes can open sealed values, and keeps those out that cannot. While there are
// some, they stay until the unit ends.
func (u *Unit) everyoneOpens(ctx context.Context) (bool, error) {
	if u.store.allCanOpen.Load() {
		return true, nil
	}
	if u.store.Level < sealedLevel {
		return false, nil
	}
	older, err := u.RaiseLevel(ctx, sealedLevel)
	if err != nil || older > 0 {
		return false, err
	}
	if !u.raised { // which is not certain before the commit
		u.store.allCanOpen.Store(true)
	}
	return true, nil
}

// SealOf01 is SealTextOf01 for a column of bytes, where what is in clear does not begin with the byte 1.
func (u *Unit) SealOf01(ctx context.Context, plain []byte, of outbound.SecretField) ([]byte, error) {
	seals, err := u.sealsOf01(ctx)
	if err != nil {
		return nil, u.Fail(err)
	}
	if !seals {
		return plain, nil
	}
	return u.Seal(ctx, plain, of)
}

// OpenOf01 gives back what SealOf01 or 0.1.0 kept.
func (u *Unit) OpenOf01(ctx context.Context, kept []byte, of outbound.SecretField) ([]byte, error) {
	if len(kept) == 0 || kept[0] != 1 {
		return kept, nil
	}
	return u.Open(ctx, kept, of)
}
