package portstest

import (
	"context"
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Passwords is the contract of outbound.Passwords. busy is one that has no memory, and waits for it only for a
// moment.
func Passwords(t *testing.T, passwords, busy outbound.Passwords) {
	const right = "a long walk by the sea"
	hash, err := passwords.Hash(t.Context(), right)
	if err != nil || hash == "" {
		t.Fatalf("%q: %v", hash, err)
	}
	accented, err := passwords.Hash(t.Context(), "caf\u00e9 au lait, s'il vous pla\u00eet")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Verify", func(t *testing.T) {
		for claim, c := range map[string]struct {
			hash, password string
			want           bool
		}{
			"the password is right":                        {hash, right, true},
			"another one is wrong":                         {hash, "a long walk by the lake", false},
			"so is a part of it":                           {hash, right[:len(right)-1], false},
			"and what goes on behind it":                   {hash, right + " ", false},
			"and none":                                     {hash, "", false},
			"case matters":                                 {hash, "A long walk by the sea", false},
			"nobody has a right password":                  {"", right, false},
			"not even none":                                {"", "", false},
			"the same characters are the same password":    {accented, "cafe\u0301 au lait, s'il vous plai\u0302t", true},
			"and others are others":                        {accented, "cafe au lait, s'il vous plait", false},
			"what is no text is a password like any other": {hash, right + "\xff\x00", false},
		} {
			if got, err := passwords.Verify(t.Context(), c.hash, c.password); err != nil || got != c.want {
				t.Errorf("%s: %t, %v", claim, got, err)
			}
		}
	})
	t.Run("Hash", func(t *testing.T) {
		again, err := passwords.Hash(t.Context(), right)
		if err != nil || again == hash {
			t.Errorf("the same password has the same hash a second time: %q, %v", again, err)
		}
	})
	t.Run("Unreadable", func(t *testing.T) {
		for _, text := range []string{"x", right, hash[:len(hash)/2], hash + "x", " " + hash, hash + "$"} {
			if got, err := passwords.Verify(t.Context(), text, right); got || domain.KindOf(err) != domain.Internal {
				t.Errorf("%q: %t, %v", text, got, err)
			}
		}
	})
	t.Run("Busy", func(t *testing.T) {
		_, err := busy.Hash(t.Context(), right)
		expectBusy(t, err)
		for _, of := range []string{hash, ""} {
			_, err = busy.Verify(t.Context(), of, right)
			expectBusy(t, err)
		}
	})
	t.Run("Stopped", func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := busy.Hash(ctx, right); !errors.Is(err, gone) {
			t.Errorf("Hash: %v", err)
		}
		if ok, err := busy.Verify(ctx, hash, right); ok || !errors.Is(err, gone) {
			t.Errorf("Verify: %t, %v", ok, err)
		}
	})
}

func expectBusy(t *testing.T, err error) {
	t.Helper()
	var said *domain.Error
	if !errors.As(err, &said) || said.Kind != domain.Unavailable || said.Code != "sign_in_busy" {
		t.Errorf("without memory: %v", err)
	}
}
