package hook

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// TokenEntropy is how many random bytes [NewToken] needs: 160 bits.
const TokenEntropy = 20

// TokenPrefix begins every token, so that one is recognized, and hidden, wherever it turns up.
const TokenPrefix = "htk_"

// tokenText is how many characters stand behind the prefix.
const tokenText = TokenEntropy * 8 / 5

var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Token is the secret part of a hook's address. Printing it gives the prefix and dots;
// [Token.Reveal] is for the answers that show the address.
type Token struct{ text string }

// TokenHash is the SHA-256 of a token's text, which is all that is stored of it.
type TokenHash [sha256.Size]byte

// NewToken makes a token from random bytes.
func NewToken(entropy [TokenEntropy]byte) Token {
	return Token{TokenPrefix + tokenEncoding.EncodeToString(entropy[:])}
}

// ParseToken accepts a text of the right shape.
func ParseToken(text string) (t Token, ok bool) {
	body, ok := strings.CutPrefix(text, TokenPrefix)
	if !ok || len(body) != tokenText {
		return t, false
	}
	for i := range len(body) {
		if c := body[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return t, false
		}
	}
	return Token{text}, true
}

// Hash is what a store keeps and looks the hook up by.
func (t Token) Hash() TokenHash { return sha256.Sum256([]byte(t.text)) }

// Hint is the token shortened, for people to tell addresses apart.
func (t Token) Hint() string { return TokenPrefix + "…" + t.text[len(t.text)-4:] }

// Reveal returns the text itself.
func (t Token) Reveal() string { return t.text }

// String hides the token.
func (t Token) String() string { return TokenPrefix + "…" }

// GoString hides the token.
func (t Token) GoString() string { return t.String() }

// MarshalText hides the token from encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
