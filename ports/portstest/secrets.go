package portstest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// KeyWrapper is the contract of outbound.KeyWrapper. open gives a wrapper with the same key each time, and other one
// with another key.
func KeyWrapper(t *testing.T, open, other func(*testing.T) outbound.KeyWrapper) {
	keyset := []byte(strings.Repeat("keyset ", 64<<10/7))
	wrap := func(t *testing.T, plain []byte) []byte {
		t.Helper()
		wrapped, err := open(t).Wrap(t.Context(), plain)
		if err != nil {
			t.Fatal(err)
		}
		return wrapped
	}
	t.Run("another process with the same key gets the keyset back", func(t *testing.T) {
		for _, plain := range [][]byte{keyset, {0}, {}} {
			if got, err := open(t).Unwrap(t.Context(), wrap(t, plain)); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes came back for %d: %v", len(got), len(plain), err)
			}
		}
	})
	t.Run("what is wrapped shows nothing of the keyset, and differs each time", func(t *testing.T) {
		wrapped := wrap(t, keyset)
		if bytes.Contains(wrapped, []byte("keyset")) || bytes.Equal(wrapped, wrap(t, keyset)) {
			t.Error("it does")
		}
	})
	t.Run("another key does not open it", func(t *testing.T) {
		if got, err := other(t).Unwrap(t.Context(), wrap(t, keyset)); !errors.Is(err, outbound.ErrWrongKey) || len(got) > 0 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("what was altered, cut off or made up does not open", func(t *testing.T) {
		wrapped := wrap(t, []byte("keyset"))
		made := [][]byte{nil, {1}, bytes.Repeat([]byte{7}, 200), wrapped[:len(wrapped)-1], append(bytes.Clone(wrapped), 0)}
		for i := range wrapped {
			altered := bytes.Clone(wrapped)
			altered[i] ^= 1
			made = append(made, altered)
		}
		for i, wrong := range made {
			if got, err := open(t).Unwrap(t.Context(), wrong); !errors.Is(err, outbound.ErrWrongKey) || len(got) > 0 {
				t.Errorf("%d: %d bytes, %v", i, len(got), err)
			}
		}
	})
}

// KeysetCell holds the keyset of a suite, as a database does.
type KeysetCell struct {
	mu    sync.Mutex
	now   outbound.Keyset
	reads int
	fails error
}

// Keyset returns it.
func (c *KeysetCell) Keyset(context.Context) (outbound.Keyset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.now, c.fails
}

// keep takes the next keyset.
func (c *KeysetCell) keep(t *testing.T, wrapped []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = outbound.Keyset{Revision: c.now.Revision + 1, Wrapped: wrapped}
}

// MakingCipher is a cipher with what makes its keysets.
type MakingCipher interface {
	outbound.Cipher
	outbound.KeysetMaker
}

// someField is where the suites of ciphers have a secret stand.
var someField = outbound.SecretField{Tenant: "tenant_1", Record: "whk_1", Field: "secret"}

func seal(t *testing.T, c outbound.Cipher, cell *KeysetCell, plain string, of outbound.SecretField) []byte {
	t.Helper()
	sealed, err := c.Seal(t.Context(), cell, []byte(plain), of)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func wantOpened(t *testing.T, c outbound.Cipher, cell *KeysetCell, sealed []byte, of outbound.SecretField, want string) {
	t.Helper()
	if got, err := c.Open(t.Context(), cell, sealed, of); err != nil || string(got) != want {
		t.Errorf("%d bytes came back of %d: %v", len(got), len(want), err)
	}
}

func wantUnreadable(t *testing.T, c outbound.Cipher, cell *KeysetCell, sealed []byte, of outbound.SecretField) {
	t.Helper()
	got, err := c.Open(t.Context(), cell, sealed, of)
	wantCode(t, err, "secret_unreadable")
	if len(got) > 0 {
		t.Errorf("%d bytes came back", len(got))
	}
}

// cipherSuite is what Cipher is called with.
type cipherSuite struct {
	open, wrong, without func(*testing.T) MakingCipher
}

// start gives a cipher with a keyset that it has made.
func (s cipherSuite) start(t *testing.T) (MakingCipher, *KeysetCell) {
	t.Helper()
	c, cell := s.open(t), &KeysetCell{}
	wrapped, err := c.Make(t.Context())
	cell.keep(t, wrapped, err)
	return c, cell
}

// Cipher is the contract of outbound.Cipher and outbound.KeysetMaker. open gives one as a new process has it: with a
// key, always the same, with another one, or without any.
func Cipher(t *testing.T, open, wrong, without func(*testing.T) MakingCipher) {
	s := cipherSuite{open, wrong, without}
	s.seals(t)
	s.changesKeys(t)
	s.failsWithoutKey(t)
}

func (s cipherSuite) seals(t *testing.T) {
	t.Helper()
	t.Run("what was sealed opens in every process", func(t *testing.T) {
		c, cell := s.start(t)
		for _, plain := range []string{"", "whsec_text", strings.Repeat("\x00ü", 1<<20)} {
			sealed := seal(t, c, cell, plain, someField)
			wantOpened(t, c, cell, sealed, someField, plain)
			wantOpened(t, s.open(t), cell, sealed, someField, plain)
			if len(sealed) > len(plain)+37 || plain != "" && bytes.Contains(sealed, []byte(plain)) {
				t.Errorf("%d bytes became %d", len(plain), len(sealed))
			}
		}
	})
	t.Run("it opens nowhere else", func(t *testing.T) {
		c, cell := s.start(t)
		of := outbound.SecretField{Tenant: "a", Record: "bc", Field: "d"}
		sealed := seal(t, c, cell, "text", of)
		for _, elsewhere := range []outbound.SecretField{
			{Tenant: "b", Record: "bc", Field: "d"}, {Tenant: "a", Record: "bd", Field: "d"}, {Tenant: "a", Record: "bc", Field: "e"},
			{Tenant: "ab", Record: "c", Field: "d"}, {Tenant: "a", Record: "b", Field: "cd"}, {Tenant: "a|2:bc", Record: "", Field: "d"}, {},
			{Tenant: "bc", Record: "a", Field: "d"}, {Tenant: "", Record: "abc", Field: "d"}, {Tenant: "a", Record: "bcd", Field: ""},
		} {
			wantUnreadable(t, c, cell, sealed, elsewhere)
		}
		wantOpened(t, c, cell, sealed, of, "text")
	})
	t.Run("what was altered, cut off or made up does not open", func(t *testing.T) {
		c, cell := s.start(t)
		sealed := seal(t, c, cell, "text", someField)
		made := [][]byte{nil, {1}, []byte("whsec_plain"), sealed[:4], sealed[:5], sealed[:len(sealed)-1], append(bytes.Clone(sealed), 0)}
		for i := range sealed {
			altered := bytes.Clone(sealed)
			altered[i] ^= 0x80
			made = append(made, altered)
		}
		for _, wrong := range made {
			wantUnreadable(t, c, cell, wrong, someField)
		}
	})
	t.Run("no error shows what is secret", func(t *testing.T) {
		c, cell := s.start(t)
		_, err := c.Open(t.Context(), cell, []byte("whsec_plain"), someField)
		if err == nil || strings.Contains(err.Error(), "plain") {
			t.Error(err)
		}
	})
	t.Run("the keyset is not read for each value", func(t *testing.T) {
		c, cell := s.start(t)
		for range 100 {
			wantOpened(t, c, cell, seal(t, c, cell, "text", someField), someField, "text")
		}
		if cell.reads != 1 {
			t.Errorf("it was read %d times", cell.reads)
		}
	})
}

func (s cipherSuite) changesKeys(t *testing.T) {
	t.Helper()
	t.Run("everything begins with the prefix of the key that sealed it", func(t *testing.T) {
		c, cell := s.start(t)
		before := prefix(t, c, cell)
		if sealed := seal(t, c, cell, "text", someField); !bytes.HasPrefix(sealed, before) {
			t.Errorf("%x does not begin with %x", sealed[:8], before)
		}
		wrapped, err := c.Rotate(t.Context(), cell.now.Wrapped)
		cell.keep(t, wrapped, err)
		if after := prefix(t, s.open(t), cell); bytes.HasPrefix(after, before) || bytes.HasPrefix(before, after) {
			t.Errorf("%x, then %x", before, after)
		}
	})
	t.Run("after a rotation everything opens in every process, and those that open what is new seal by the new key", func(t *testing.T) {
		rotating, cell := s.start(t)
		serving := s.open(t)
		old := seal(t, serving, cell, "old", someField)
		wrapped, err := rotating.Rotate(t.Context(), cell.now.Wrapped)
		cell.keep(t, wrapped, err)
		fresh := s.open(t)
		late := seal(t, serving, cell, "late", someField) // which does not know yet
		wantOpened(t, fresh, cell, late, someField, "late")
		wantOpened(t, fresh, cell, old, someField, "old")
		young := seal(t, fresh, cell, "new", someField)
		wantOpened(t, serving, cell, young, someField, "new")
		wantOpened(t, serving, cell, old, someField, "old")
		if sealed := seal(t, serving, cell, "text", someField); !bytes.HasPrefix(sealed, prefix(t, fresh, cell)) {
			t.Error("it seals by the old key")
		}
	})
	t.Run("keys that were pruned open nothing any more, others do", func(t *testing.T) {
		c, cell := s.start(t)
		var sealed [][]byte
		for range 3 {
			sealed = append(sealed, seal(t, s.open(t), cell, "text", someField))
			wrapped, err := c.Rotate(t.Context(), cell.now.Wrapped)
			cell.keep(t, wrapped, err)
		}
		sealed = append(sealed, seal(t, s.open(t), cell, "text", someField))
		for _, newest := range []int{2, 5} {
			wrapped, err := c.Prune(t.Context(), cell.now.Wrapped, newest)
			cell.keep(t, wrapped, err)
		}
		after := s.open(t)
		wantUnreadable(t, after, cell, sealed[0], someField)
		wantUnreadable(t, after, cell, sealed[1], someField)
		wantOpened(t, after, cell, sealed[2], someField, "text")
		wantOpened(t, after, cell, sealed[3], someField, "text")
		if !bytes.HasPrefix(seal(t, after, cell, "text", someField), prefix(t, s.open(t), cell)) {
			t.Error("the key that seals has changed")
		}
	})
	t.Run("a keyset that goes back is not believed", func(t *testing.T) {
		c, cell := s.start(t)
		before := cell.now
		wrapped, err := c.Rotate(t.Context(), before.Wrapped)
		cell.keep(t, wrapped, err)
		serving := s.open(t)
		sealed := seal(t, serving, cell, "text", someField)
		cell.now = before // as in a transaction that began before
		wantUnreadable(t, serving, cell, append([]byte{1, 0, 0, 0, 0}, sealed[5:]...), someField)
		wantOpened(t, serving, cell, sealed, someField, "text")
	})
}

func (s cipherSuite) failsWithoutKey(t *testing.T) {
	t.Helper()
	t.Run("with another key nothing is sealed, opened or changed", func(t *testing.T) {
		c, cell := s.start(t)
		sealed, stranger := seal(t, c, cell, "text", someField), s.wrong(t)
		wantUnreadable(t, stranger, cell, sealed, someField)
		_, err := stranger.Seal(t.Context(), cell, nil, someField)
		wantCode(t, err, "encryption_key_wrong")
		_, err = stranger.Prefix(t.Context(), cell)
		wantCode(t, err, "encryption_key_wrong")
		_, err = stranger.Rotate(t.Context(), cell.now.Wrapped)
		wantCode(t, err, "encryption_key_wrong")
		_, err = stranger.Prune(t.Context(), cell.now.Wrapped, 1)
		wantCode(t, err, "encryption_key_wrong")
	})
	t.Run("without a key or a keyset nothing is sealed or opened", func(t *testing.T) {
		c, cell := s.start(t)
		sealed := seal(t, c, cell, "text", someField)
		for _, lacking := range []struct {
			c    MakingCipher
			cell *KeysetCell
		}{{s.without(t), cell}, {s.open(t), &KeysetCell{}}} {
			wantUnreadable(t, lacking.c, lacking.cell, sealed, someField)
			_, err := lacking.c.Seal(t.Context(), lacking.cell, nil, someField)
			wantCode(t, err, "encryption_key_missing")
			_, err = lacking.c.Prefix(t.Context(), lacking.cell)
			wantCode(t, err, "encryption_key_missing")
		}
		_, err := s.without(t).Make(t.Context())
		wantCode(t, err, "encryption_key_missing")
		_, err = s.without(t).Rotate(t.Context(), cell.now.Wrapped)
		wantCode(t, err, "encryption_key_missing")
	})
	t.Run("that the keyset cannot be read is what is said", func(t *testing.T) {
		c, cell := s.start(t)
		sealed := seal(t, c, cell, "text", someField)
		cell.fails = domain.Fail(domain.Unavailable, "database_unavailable", "gone")
		_, err := s.open(t).Open(t.Context(), cell, sealed, someField)
		wantCode(t, err, "database_unavailable")
		_, err = s.open(t).Seal(t.Context(), cell, nil, someField)
		wantCode(t, err, "database_unavailable")
	})
}

func prefix(t *testing.T, c outbound.Cipher, cell *KeysetCell) []byte {
	t.Helper()
	p, err := c.Prefix(t.Context(), cell)
	if err != nil || len(p) == 0 {
		t.Fatalf("the prefix is %x: %v", p, err)
	}
	return p
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != code || e.Kind != domain.Unavailable {
		t.Errorf("the error is %v, not %s", err, code)
	}
}
