package member

import (
	"crypto/sha256"
	"encoding/base64"
)

// TokenBytes is how many random bytes the secret of a session or a link has.
const TokenBytes = 32

// Token is the secret of a session or a link. Printing it gives dots; [Token.Reveal] is the only way to it.
type Token struct{ text *string } // behind a pointer, because fmt reads unexported members

// TokenHash is the SHA-256 of a token, which is all that is stored of it.
type TokenHash [sha256.Size]byte

// NewToken writes random bytes as a token.
func NewToken(random [TokenBytes]byte) Token {
	text := base64.RawURLEncoding.EncodeToString(random[:])
	return Token{&text}
}

// ParseToken accepts a text of the right shape; ok is false for every other one.
func ParseToken(text string) (t Token, ok bool) {
	bits, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(bits) != TokenBytes || len(text) != base64.RawURLEncoding.EncodedLen(TokenBytes) {
		return Token{}, false
	}
	return Token{&text}, true
}

// Hash is what a store keeps, and finds the record by.
func (t Token) Hash() TokenHash { return sha256.Sum256([]byte(t.Reveal())) }

// Reveal returns the text; the zero value has an empty one.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String hides the token.
func (t Token) String() string { return "…" }

// GoString hides the token.
func (t Token) GoString() string { return t.String() }

// MarshalText hides the token from encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
