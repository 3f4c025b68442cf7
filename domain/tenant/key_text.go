package tenant

import (
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"strings"
)

// KeyType says what a key is for.
type KeyType string

// The types of key.
const (
	Public KeyType = "public" // pk_…: client-side code, may be seen by anyone, mostly reads
	Secret KeyType = "secret" // sk_…: servers only, may do everything
	Embed  KeyType = "embed"  // ek_…: embed tokens, for pages of the tenant's own customers

	// Session is no key: a member of the tenant is signed in to the console.
	Session KeyType = "session"
)

// KeyTypes lists the types that last until they are revoked: all but [Embed].
func KeyTypes() []KeyType { return []KeyType{Public, Secret} }

// IsLasting says whether t is one of [KeyTypes].
func (t KeyType) IsLasting() bool { return t == Public || t == Secret }

// Called is the type as part of a message: "a secret key".
func (t KeyType) Called() string {
	switch t {
	case Embed:
		return "an embed token"
	case Session:
		return "a session"
	default:
		return "a " + string(t) + " key"
	}
}

// Prefix is what the text of a key of this type begins with: "pk_", "sk_" or "ek_".
func (t KeyType) Prefix() string {
	switch t {
	case Secret:
		return "sk_"
	case Embed:
		return "ek_"
	default:
		return "pk_"
	}
}

// Sizes of a key's text. Behind the prefix stand 34 random base62 characters (202
// bits) and six that hold their CRC-32, so that a mistyped key is recognized
// without a look-up.
const (
	keyRandom   = 34
	keyChecksum = 6
	keyTextLen  = len("sk_") + keyRandom + keyChecksum
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// KeyEntropy is how many random bytes [NewKeyText] needs.
	KeyEntropy = 26
)

// ErrMalformedKey is what [ParseKeyText] returns for a text that cannot be a key.
// It does not hold the text.
var ErrMalformedKey = errors.New("tenant: the text is not an API key")

// KeyText is the secret text of an API key. Printing it gives the prefix and dots;
// [KeyText.Reveal] is for the one answer that shows the key.
type KeyText struct{ text string }

// KeyHash is the SHA-256 of a key's text, which is all that is stored of it.
type KeyHash [sha256.Size]byte

// NewKeyText makes the text of a key from random bytes.
func NewKeyText(t KeyType, entropy [KeyEntropy]byte) KeyText {
	var b strings.Builder
	b.Grow(keyTextLen)
	b.WriteString(t.Prefix())
	body := encodeBase62(entropy[:], keyRandom)
	b.WriteString(body)
	b.WriteString(checksum(t.Prefix() + body))
	return KeyText{b.String()}
}

// ParseKeyText accepts a text of the right shape whose checksum agrees, else
// returns [ErrMalformedKey].
func ParseKeyText(text string) (KeyText, error) {
	if len(text) != keyTextLen || (text[:3] != Public.Prefix() && text[:3] != Secret.Prefix() && text[:3] != Embed.Prefix()) {
		return KeyText{}, ErrMalformedKey
	}
	for i := 3; i < len(text); i++ {
		if !isBase62(text[i]) {
			return KeyText{}, ErrMalformedKey
		}
	}
	if text[keyTextLen-keyChecksum:] != checksum(text[:keyTextLen-keyChecksum]) {
		return KeyText{}, ErrMalformedKey
	}
	return KeyText{text}, nil
}

// Type is read off the prefix.
func (k KeyText) Type() KeyType {
	switch {
	case strings.HasPrefix(k.text, Secret.Prefix()):
		return Secret
	case strings.HasPrefix(k.text, Embed.Prefix()):
		return Embed
	default:
		return Public
	}
}

// Hash is what a store keeps and looks the key up by.
func (k KeyText) Hash() KeyHash { return sha256.Sum256([]byte(k.text)) }

// LastFour are the last four characters, by which people tell keys apart.
func (k KeyText) LastFour() string { return k.text[len(k.text)-4:] }

// Reveal returns the text itself.
func (k KeyText) Reveal() string { return k.text }

// String hides the key.
func (k KeyText) String() string { return k.Type().Prefix() + "…" }

// GoString hides the key.
func (k KeyText) GoString() string { return k.String() }

// MarshalText hides the key from encoders.
func (k KeyText) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	return encodeBase62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, keyChecksum)
}

// encodeBase62 writes the big-endian number in src as n base62 digits, dropping
// what does not fit.
func encodeBase62(src []byte, n int) string {
	number := append([]byte(nil), src...)
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		rest := 0
		for j, b := range number {
			rest = rest<<8 | int(b)
			number[j] = byte(rest / 62)
			rest %= 62
		}
		out[i] = base62[rest]
	}
	return string(out)
}

func isBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
