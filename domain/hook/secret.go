package hook

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"
)

// SecretKind says what a secret is good for.
type SecretKind string

// The kinds of secret. What is public never serves as the key of an HMAC, or whoever knows it
// could sign.
const (
	SecretText      SecretKind = "text"      // a key, token or password that both sides know
	SecretPublicKey SecretKind = "publicKey" // of the sender's Ed25519 key
)

// Secret is what a hook verifies with. Printing it, or what holds it, gives its source only.
type Secret struct {
	source string
	kind   SecretKind
	value  *string // behind a pointer, because fmt reads unexported members
	exact  bool    // the value is a key whatever the scheme's senders write around theirs
}

// ErrMalformedPublicKey is what [NewPublicKey] returns for a text that is none.
var ErrMalformedPublicKey = errors.New("hook: the text is no Ed25519 public key in hexadecimal, base64 or PEM")

// NewText makes a secret from the text that the sender shows: a signing secret, a token, or for the kind basic
// user:password. The source tells it from others, such as the id of its connection.
func NewText(source, text string) Secret {
	return Secret{source: source, kind: SecretText, value: &text}
}

// NewKey makes a secret from the bytes of a key.
func NewKey(source string, key []byte) Secret {
	text := string(key)
	return Secret{source: source, kind: SecretText, value: &text, exact: true}
}

// NewCredentials makes a secret from a user name, which holds no colon (RFC 7617, §2), and a password.
func NewCredentials(source, user, password string) Secret { return NewText(source, user+":"+password) }

// NewPublicKey reads an Ed25519 public key: in hexadecimal, as Discord shows it; in base64 behind "whpk_" or
// without it (Standard Webhooks); or as PEM. Else it returns [ErrMalformedPublicKey].
func NewPublicKey(source, text string) (Secret, error) {
	key, ok := readPublicKey(strings.TrimSpace(text))
	if !ok {
		return Secret{}, ErrMalformedPublicKey
	}
	return Secret{source: source, kind: SecretPublicKey, value: &key}, nil
}

func readPublicKey(text string) (key string, ok bool) {
	if block, rest := pem.Decode([]byte(text)); block != nil && len(rest) == 0 {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, isEd25519 := parsed.(ed25519.PublicKey)
		return string(public), err == nil && isEd25519
	}
	if decoded, err := hex.DecodeString(text); err == nil && len(decoded) == ed25519.PublicKeySize {
		return string(decoded), true
	}
	text = strings.TrimRight(strings.TrimPrefix(text, "whpk_"), "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.Strict().DecodeString(text); err == nil && len(decoded) == ed25519.PublicKeySize {
			return string(decoded), true
		}
	}
	return "", false
}

// Source tells the secret from others.
func (s Secret) Source() string { return s.source }

// Kind says what the secret is good for.
func (s Secret) Kind() SecretKind { return s.kind }

// String hides the secret.
func (s Secret) String() string { return "secret " + s.source }

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Secret) text() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// keys are the keys that the text may stand for; none for an empty one.
func (s Secret) keys(form keyForm) [][]byte {
	text := s.text()
	switch {
	case text == "":
		return nil
	case form != keyStandard || s.exact:
		return [][]byte{[]byte(text)}
	}
	encoded, prefixed := strings.CutPrefix(text, "whsec_")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err == nil && len(decoded) > 0 && prefixed:
		return [][]byte{decoded}
	case err == nil && len(decoded) > 0:
		return [][]byte{decoded, []byte(text)} // libraries take either for a key without the prefix
	default:
		return [][]byte{[]byte(text)}
	}
}
