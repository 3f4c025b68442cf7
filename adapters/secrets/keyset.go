package secrets

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Make returns a new keyset with one key.
func (c *Cipher) Make(ctx context.Context) ([]byte, error) {
	if c.wrapper == nil {
		return nil, outbound.ErrKeyMissing
	}
	return c.change(ctx, keyset.NewManager(), addKey)
}

// Rotate adds a key.
func (c *Cipher) Rotate(ctx context.Context, wrapped []byte) ([]byte, error) {
	handle, err := c.unwrap(ctx, wrapped)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, keyset.NewManagerFromHandle(handle), addKey)
}

// addKey adds a key by which everything is sealed from then on.
func addKey(m *keyset.Manager) error {
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return err
	}
	return m.SetPrimary(id)
}

// Prune removes all keys but the newest ones. Tink keeps them in the order in which they were added.
func (c *Cipher) Prune(ctx context.Context, wrapped []byte, newest int) ([]byte, error) {
	handle, err := c.unwrap(ctx, wrapped)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, keyset.NewManagerFromHandle(handle), func(m *keyset.Manager) error {
		for i := range max(0, handle.Len()-newest) {
			entry, err := handle.Entry(i)
			if err != nil {
				return err
			}
			if err := m.Delete(entry.KeyID()); err != nil {
				return err
			}
		}
		return nil
	})
}

// change returns a keyset that was changed.
func (c *Cipher) change(ctx context.Context, m *keyset.Manager, do func(*keyset.Manager) error) ([]byte, error) {
	err := do(m)
	if err != nil {
		return nil, fmt.Errorf("change the keyset: %w", err)
	}
	handle, err := m.Handle()
	if err != nil {
		return nil, fmt.Errorf("change the keyset: %w", err)
	}
	var plain bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewBinaryWriter(&plain)); err != nil {
		return nil, fmt.Errorf("write the keyset: %w", err)
	}
	return c.wrapper.Wrap(ctx, plain.Bytes())
}

// unwrap reads a keyset.
func (c *Cipher) unwrap(ctx context.Context, wrapped []byte) (*keyset.Handle, error) {
	if c.wrapper == nil {
		return nil, outbound.ErrKeyMissing
	}
	plain, err := c.wrapper.Unwrap(ctx, wrapped)
	if err != nil {
		return nil, err
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(plain)))
	if err != nil {
		return nil, fmt.Errorf("read the keyset: %w", err)
	}
	return handle, nil
}
