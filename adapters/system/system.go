// Package system is the driven adapter for what the operating system gives: the
// time and random bytes.
package system

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Clock reads the system's clock.
type Clock struct{}

var _ outbound.Clock = Clock{}

// Now returns the time in UTC, truncated to milliseconds.
func (Clock) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Random draws from the system's secure source. For identifiers, of which every
// request needs some and which are no secrets, it draws in blocks.
type Random struct{}

var _ outbound.Random = Random{}

func init() { uuid.EnableRandPool() }

// Fill fills p with secure random bytes.
func (Random) Fill(p []byte) {
	rand.Read(p) // never returns an error: a system without randomness ends the process
}

// ID returns the prefix, an underscore and a UUIDv7 in base32 (the TypeID scheme).
func (Random) ID(prefix string) string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // reading secure randomness does not fail
	}
	return prefix + "_" + encode(id)
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// encode writes 128 bits as 26 characters of Crockford's base32, the first of
// which holds only three bits, so that texts sort like the numbers.
func encode(id uuid.UUID) string {
	var out [26]byte
	bits, have, next := uint(0), uint(2), 0 // two zero bits make 130, a multiple of five
	for _, b := range id {
		bits, have = bits<<8|uint(b), have+8
		for have >= 5 {
			have -= 5
			out[next] = alphabet[bits>>have&31]
			next++
		}
	}
	return string(out[:])
}
