package operator

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// Scope is a part of what the operator can ask.
type Scope string

// The scopes. Whoever may change something may also read it.
const (
	Read      Scope = "read"    // everything, and change nothing
	OfTenants Scope = "tenants" // and change tenants and their keys
	OfRuns    Scope = "runs"    // and cancel and retry runs
)

// Name is that of the token without a name, where a log says who acted.
const Name = "operator"

// Token is what a request of the operator can carry: its digest, and what it opens.
type Token struct {
	Name   string
	text   string
	digest [sha256.Size]byte
	scopes []Scope // none for everything
}

// NewToken returns the token of a text, of which [IsToken] holds, that opens everything.
func NewToken(text string) Token {
	return Token{Name: Name, text: text, digest: sha256.Sum256([]byte(text))}
}

// Reveal returns the text, for who is to keep it out of the log.
func (t Token) Reveal() string { return t.text }

// refuse says why the token has none of the scopes that open something; nil where it has one.
func (t Token) refuse(needed ...Scope) error {
	if len(t.scopes) == 0 {
		return nil
	}
	names := make([]string, len(needed))
	for i, scope := range needed {
		if slices.Contains(t.scopes, scope) {
			return nil
		}
		names[i] = string(scope)
	}
	return domain.Fail(domain.Forbidden, "permission_missing", "This takes an operator's token with the scope %s.", strings.Join(names, " or "))
}

// Tokens are those that the operator has now. Many goroutines may use them; nil has none and
// never will.
type Tokens struct{ now atomic.Pointer[[]Token] }

// NewTokens returns them.
func NewTokens(all ...Token) *Tokens {
	t := new(Tokens)
	t.Set(all)
	return t
}

// Set replaces all of them.
func (t *Tokens) Set(all []Token) { t.now.Store(&all) }

// Who returns the name of the token of a text.
func (t *Tokens) Who(text string) (name string, ok bool) {
	found, ok := t.find(text)
	return found.Name, ok
}

// find returns the token of a text, in a time that does not tell which of them it resembles.
func (t *Tokens) find(text string) (found Token, ok bool) {
	digest := sha256.Sum256([]byte(text))
	for _, one := range *t.now.Load() {
		if subtle.ConstantTimeCompare(one.digest[:], digest[:]) == 1 {
			found, ok = one, true
		}
	}
	return found, ok
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
