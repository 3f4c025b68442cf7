// Package secrets encrypts secrets at rest: with a keyset of Tink, which is wrapped by a key that is kept
// elsewhere.
package secrets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/cryptofmt"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Cipher implements outbound.Cipher and outbound.KeysetMaker.
type Cipher struct {
	wrapper outbound.KeyWrapper // nil without a key
	mu      sync.Mutex          // held while a keyset is unwrapped
	current atomic.Pointer[openKeyset]
}

var (
	_ outbound.Cipher      = (*Cipher)(nil)
	_ outbound.KeysetMaker = (*Cipher)(nil)
)

// New returns a cipher whose keyset the wrapper opens; nil stands for no key.
func New(wrapper outbound.KeyWrapper) *Cipher { return &Cipher{wrapper: wrapper} }

// openKeyset is an unwrapped keyset.
type openKeyset struct {
	revision int64
	aead     tink.AEAD
	keys     map[uint32]bool
	primary  []byte // what it puts in front of what it seals
	readAt   time.Time
}

// Seal encrypts a value.
func (c *Cipher) Seal(ctx context.Context, keysets outbound.Keysets, plain []byte, of outbound.SecretField) ([]byte, error) {
	k, err := c.newest(ctx, keysets)
	if err != nil {
		return nil, err
	}
	sealed, err := k.aead.Encrypt(plain, associatedData(of))
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", of.Field, err)
	}
	return sealed, nil
}

// Prefix is what everything begins with that Seal gives from now on.
func (c *Cipher) Prefix(ctx context.Context, keysets outbound.Keysets) ([]byte, error) {
	k, err := c.read(ctx, keysets)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(k.primary), nil
}

// newest returns the keyset as it was not long ago. A key that has been replaced is not removed before the next
// rotation, so that what is sealed by it meanwhile opens.
func (c *Cipher) newest(ctx context.Context, keysets outbound.Keysets) (*openKeyset, error) {
	if k := c.current.Load(); k != nil && time.Since(k.readAt) < outbound.KeysetLifetime {
		return k, nil
	}
	return c.read(ctx, keysets)
}

// Open decrypts a value.
func (c *Cipher) Open(ctx context.Context, keysets outbound.Keysets, sealed []byte, of outbound.SecretField) ([]byte, error) {
	if len(sealed) < cryptofmt.TinkPrefixSize || sealed[0] != cryptofmt.TinkStartByte {
		return nil, unreadable(of, errors.New("it is not a sealed value"))
	}
	id := binary.BigEndian.Uint32(sealed[1:cryptofmt.TinkPrefixSize])
	k := c.current.Load()
	if k == nil || !k.keys[id] {
		var err error
		if k, err = c.read(ctx, keysets); err != nil {
			if errors.Is(err, outbound.ErrWrongKey) || errors.Is(err, outbound.ErrKeyMissing) {
				return nil, unreadable(of, err)
			}
			return nil, err
		}
		if !k.keys[id] {
			return nil, unreadable(of, fmt.Errorf("it was sealed by the key %08x, which the keyset does not have", id))
		}
	}
	plain, err := k.aead.Decrypt(sealed, associatedData(of))
	if err != nil {
		return nil, unreadable(of, errors.New("it was altered, or sealed for another record"))
	}
	return plain, nil
}

// read reads the keyset again. Another transaction may see an older one than is known already.
func (c *Cipher) read(ctx context.Context, keysets outbound.Keysets) (*openKeyset, error) {
	if c.wrapper == nil {
		return nil, outbound.ErrKeyMissing
	}
	began := time.Now()
	found, err := keysets.Keyset(ctx)
	if err != nil {
		return nil, err
	}
	if found.Revision == 0 {
		return nil, outbound.ErrKeyMissing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.current.Load()
	if known != nil && found.Revision < known.revision {
		return known, nil
	}
	if known != nil && found.Revision == known.revision {
		again := *known
		again.readAt = began
		c.current.Store(&again)
		return &again, nil
	}
	fresh, err := c.open(ctx, found)
	if err != nil {
		return nil, err
	}
	fresh.readAt = began
	c.current.Store(fresh)
	return fresh, nil
}

// open unwraps a keyset.
func (c *Cipher) open(ctx context.Context, found outbound.Keyset) (*openKeyset, error) {
	handle, err := c.unwrap(ctx, found.Wrapped)
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("use the keyset: %w", err)
	}
	k := &openKeyset{revision: found.Revision, aead: primitive, keys: make(map[uint32]bool, handle.Len())}
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			return nil, fmt.Errorf("read the keyset: %w", err)
		}
		k.keys[entry.KeyID()] = true
		if entry.IsPrimary() {
			k.primary = binary.BigEndian.AppendUint32([]byte{cryptofmt.TinkStartByte}, entry.KeyID())
		}
	}
	return k, nil
}

// associatedData names a field so that no two give the same.
func associatedData(of outbound.SecretField) []byte {
	var b []byte
	for _, part := range []string{string(of.Tenant), of.Record, of.Field} {
		b = fmt.Appendf(b, "%d:%s|", len(part), part)
	}
	return b
}

// unreadable says what cannot be opened, by its place.
func unreadable(of outbound.SecretField, cause error) error {
	return domain.Fail(domain.Unavailable, "secret_unreadable",
		"What %s keeps encrypted cannot be decrypted. Whoever operates the gateway learns more from: sluice secrets check", of.Record).Because(fmt.Errorf("%s: %w", of.Field, cause))
}
