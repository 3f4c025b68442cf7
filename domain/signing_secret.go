package domain

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
)

// Sizes of a secret's key, in bytes (Standard Webhooks, "Signature scheme").
const (
	minSecret = 24
	maxSecret = 64

	// SecretEntropy is how many random bytes [NewSigningSecret] needs.
	SecretEntropy = 32
)

// secretPrefix stands before the base64 of a key.
const secretPrefix = "whsec_"

// ErrMalformedSecret is what [ParseSigningSecret] returns for a text that is no secret. It
// does not hold the text.
var ErrMalformedSecret = errors.New("domain: the text is not whsec_ and the base64 of 24 to 64 bytes")

// SigningSecret is the key that signs what is sent to an endpoint of a tenant. Printing it,
// or what holds it, gives the prefix and dots, or an address. [SigningSecret.Reveal] is the
// only way to its text, for the answer that shows it, the store, and what signs with the text.
type SigningSecret struct {
	// key is behind a pointer, because fmt reads unexported members of what holds the
	// secret; and it is a string, since of a pointer to one fmt never shows more than the
	// address.
	key *string
}

// NewSigningSecret makes a secret from random bytes.
func NewSigningSecret(entropy [SecretEntropy]byte) SigningSecret {
	key := string(entropy[:])
	return SigningSecret{&key}
}

// ParseSigningSecret accepts "whsec_" and the padded standard base64 of 24 to 64 bytes, else
// returns [ErrMalformedSecret].
func ParseSigningSecret(text string) (SigningSecret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // which the decoder skips
		return SigningSecret{}, ErrMalformedSecret
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(decoded) < minSecret || len(decoded) > maxSecret {
		return SigningSecret{}, ErrMalformedSecret
	}
	key := string(decoded)
	return SigningSecret{&key}, nil
}

// Reveal returns the text: "whsec_" and base64. The zero value has none.
func (s SigningSecret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(s.bytes())
}

// LastFour are the last four characters of the text, by which people tell secrets apart.
func (s SigningSecret) LastFour() string {
	text := s.Reveal()
	return text[max(0, len(text)-4):]
}

// Equal compares the keys in a time that does not depend on them.
func (s SigningSecret) Equal(other SigningSecret) bool {
	return subtle.ConstantTimeCompare(s.bytes(), other.bytes()) == 1
}

func (s SigningSecret) bytes() []byte {
	if s.key == nil {
		return nil
	}
	return []byte(*s.key)
}

// String hides the secret.
func (s SigningSecret) String() string { return secretPrefix + "…" }

// GoString hides the secret.
func (s SigningSecret) GoString() string { return s.String() }

// MarshalText hides the secret from encoders.
func (s SigningSecret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
