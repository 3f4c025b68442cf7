package operator

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
)

// Bounds of the operator's token, in characters. Nobody guesses MinToken random ones, and
// MaxToken fit into a header.
const (
	MinToken = 32
	MaxToken = 1024
)

// IsToken says whether the text can be the operator's token: printable ASCII
// without spaces, neither too short nor too long.
func IsToken(text string) bool {
	return len(text) >= MinToken && exchange.Printable(text, MaxToken) && !strings.Contains(text, " ")
}

// Token is the digest of what the operator's requests must carry. The zero value is none,
// which no request carries.
type Token struct {
	digest [sha256.Size]byte
	given  bool
}

// NewToken returns the token of a text, of which [IsToken] holds; none
// for the empty text.
func NewToken(text string) Token {
	return Token{sha256.Sum256([]byte(text)), text != ""}
}

// Is compares a text with the token, in constant time.
func (t Token) Is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(t.digest[:], digest[:]) == 1 && t.given
}

// bearer returns the token of a request (RFC 6750, "Authorization Request Header Field");
// empty for none. Two headers count as none.
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

// maxGuesses is how many requests without the token get a 401 within guessWindow. Further
// ones get a 429; requests with the token are not limited.
const (
	maxGuesses  = 10
	guessWindow = time.Second
)

// guesses counts the requests of this process that did not have the token.
type guesses struct {
	mu    sync.Mutex
	begun time.Time // the window
	n     int
}

// count counts one more, and returns its error.
func (g *guesses) count(now time.Time) *domain.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if since := now.Sub(g.begun); since < 0 || since >= guessWindow { // clocks go backward, too
		g.begun, g.n = now, 0
	}
	if g.n++; g.n <= maxGuesses {
		return domain.Fail(domain.Unauthenticated, "unauthenticated", "The operator's token is required in the header Authorization, as Bearer.")
	}
	e := domain.Fail(domain.RateLimited, "too_many_failed_attempts", "Too many requests without the operator's token. Wait %d second.", int(guessWindow/time.Second))
	e.RetryAfter = guessWindow
	return e
}
