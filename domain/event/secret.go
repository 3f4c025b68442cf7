package event

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
)

// Sizes of a secret's key, in bytes (Standard Webhooks, "Signature scheme").
const (
	MinSecret = 24
	MaxSecret = 64

	// SecretEntropy is how many random bytes [NewSecret] needs.
	SecretEntropy = 32
)

// secretPrefix stands before the base64 of a key.
const secretPrefix = "whsec_"

// ErrMalformedSecret is what [ParseSecret] returns for a text that is no secret. It
// does not hold the text.
var ErrMalformedSecret = errors.New("event: the text is not whsec_ and the base64 of 24 to 64 bytes")

// Secret is the key that signs what is sent to an endpoint. It shows itself to nobody:
// every way of printing it, and whatever holds it, gives the prefix and dots, or an
// address. [Secret.Reveal] is the only way out, for the answer that hands it over and
// for the store.
type Secret struct {
	// key is behind a pointer, because fmt reads unexported members of what holds the
	// secret; and it is a string, since of a pointer to one fmt never shows more than the
	// address.
	key *string
}

// NewSecret makes a secret from random bytes.
func NewSecret(entropy [SecretEntropy]byte) Secret {
	key := string(entropy[:])
	return Secret{&key}
}

// ParseSecret accepts "whsec_" and the padded standard base64 of 24 to 64 bytes, else
// returns [ErrMalformedSecret].
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // which the decoder skips
		return Secret{}, ErrMalformedSecret
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(decoded) < MinSecret || len(decoded) > MaxSecret {
		return Secret{}, ErrMalformedSecret
	}
	key := string(decoded)
	return Secret{&key}, nil
}

// Reveal returns the text: "whsec_" and base64. The zero value has none.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(s.bytes())
}

// Equal compares the keys in a time that does not depend on them.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare(s.bytes(), other.bytes()) == 1
}

func (s Secret) bytes() []byte {
	if s.key == nil {
		return nil
	}
	return []byte(*s.key)
}

// String hides the secret.
func (s Secret) String() string { return secretPrefix + "…" }

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
