package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of the operator's token, in characters. The least is out of reach for guessing
// when they are random; the greatest fits into a header.
const (
	MinOperatorToken = 32
	MaxOperatorToken = 1024
)

// IsOperatorToken says whether the text can be the operator's token: printable ASCII
// without spaces, neither too short nor too long.
func IsOperatorToken(text string) bool {
	return len(text) >= MinOperatorToken && printable(text, MaxOperatorToken) && !strings.Contains(text, " ")
}

// OperatorToken is what the operator's requests prove themselves by, as a digest: the
// text is not kept. The zero value is none, which no request can prove.
type OperatorToken struct {
	digest [sha256.Size]byte
	given  bool
}

// NewOperatorToken returns the token of a text, of which [IsOperatorToken] holds; none
// for the empty text.
func NewOperatorToken(text string) OperatorToken {
	return OperatorToken{sha256.Sum256([]byte(text)), text != ""}
}

// is compares a text with the token. How long that takes says nothing about the token.
func (t OperatorToken) is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(t.digest[:], digest[:]) == 1 && t.given
}

// bearer returns the token that a request bears (RFC 6750, "Authorization Request Header
// Field"); empty for none. Two headers are none, for nobody could say which counts.
func bearer(h http.Header) string {
	sent := h.Values("Authorization")
	if len(sent) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}

// mostGuesses is how many requests without the token are told so within guessWindow. More
// of them are only told to wait, and those that have it are not held up.
const (
	mostGuesses = 10
	guessWindow = time.Second
)

// guesses counts the requests of this process that did not have the token.
type guesses struct {
	mu    sync.Mutex
	begun time.Time // of the window
	n     int
}

// another counts one more, and returns what it is told.
func (g *guesses) another(now time.Time) *domain.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if since := now.Sub(g.begun); since < 0 || since >= guessWindow { // clocks go backward, too
		g.begun, g.n = now, 0
	}
	if g.n++; g.n <= mostGuesses {
		return domain.Fail(domain.Unauthenticated, "unauthenticated", "The operator's token is required in the header Authorization, as Bearer.")
	}
	e := domain.Fail(domain.RateLimited, "too_many_failed_attempts", "Too many requests without the operator's token. Wait %d second.", int(guessWindow/time.Second))
	e.RetryAfter = guessWindow
	return e
}
