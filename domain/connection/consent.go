package connection

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ConsentLife is how long a person has to consent, from the moment the link was asked for.
const ConsentLife = 10 * time.Minute

// MaxConsents is how many requests for consent to one connection can wait at once.
const MaxConsents = 20

// SecretBytes is how many random bytes the secrets of a request for consent have.
const SecretBytes = 32

// SecretText writes random bytes as a secret of a request for consent: as a link and a code verifier (RFC 7636,
// §4.1) may hold it.
func SecretText(random [SecretBytes]byte) Text {
	return NewText(base64.RawURLEncoding.EncodeToString(random[:]))
}

// SecretDigest is what is kept of such a secret, and the S256 challenge of a code verifier.
func SecretDigest(secret Text) string {
	digest := sha256.Sum256([]byte(secret.Reveal()))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// ConsentRequest is a request for a person's consent, from the link that leads to it to the code that the
// authorization server sends back. It is used once.
//
// Whoever opens the link gets a key that stays in the browser, and only that browser may bring the
// code: the state names the request and the key by their digests. The key is the code verifier
// at the same time, so that the server itself refuses a code that another browser asked for.
// A link may be opened again and again until a code has come: programs that look at links before people do take
// nothing away from them.
type ConsentRequest struct{ state ConsentRequestState }

// ConsentRequestState is everything a store keeps of a request for consent. It holds no secret.
type ConsentRequestState struct {
	Digest     string // of the secret in the link; it identifies the request
	Tenant     tenant.ID
	Connection ID
	Client     string // fingerprint of the client that it is for
	EndsAt     time.Time
}

// NewConsentRequest makes a request for consent to a client of a connection, under a link.
func NewConsentRequest(owner tenant.ID, of ID, c OAuth, link Text, now time.Time) *ConsentRequest {
	return &ConsentRequest{ConsentRequestState{
		Digest: SecretDigest(link), Tenant: owner, Connection: of, Client: c.Fingerprint(), EndsAt: now.Add(ConsentLife),
	}}
}

// RestoreConsentRequest rebuilds a request from what a store kept.
func RestoreConsentRequest(s ConsentRequestState) *ConsentRequest { return &ConsentRequest{s} }

// State returns what a store has to keep.
func (r *ConsentRequest) State() ConsentRequestState { return r.state }

// Digest identifies the request.
func (r *ConsentRequest) Digest() string { return r.state.Digest }

// Tenant owns the connection.
func (r *ConsentRequest) Tenant() tenant.ID { return r.state.Tenant }

// Connection is what consent is asked for.
func (r *ConsentRequest) Connection() ID { return r.state.Connection }

// EndsAt is when it is too late.
func (r *ConsentRequest) EndsAt() time.Time { return r.state.EndsAt }

// ConsentEnded is the error of a link or a state that is unknown, has ended, was used, or belongs to
// another browser: NotFound with the code consent_ended. Nobody is told which.
func ConsentEnded() error {
	return domain.Fail(domain.NotFound, "consent_ended",
		"The link is not valid any more: it lives for 10 minutes and is used once, in the browser that opened it. Ask for a new one.")
}

// Check says whether the request can still be met, and is for this client: of another one no
// person has seen anything.
func (r *ConsentRequest) Check(c OAuth, now time.Time) error {
	if !now.Before(r.state.EndsAt) || r.state.Client != c.Fingerprint() {
		return ConsentEnded()
	}
	return nil
}

// StateFor is the state of an authorization request (RFC 6749, §4.1.1) for a browser with a key.
func (r *ConsentRequest) StateFor(key Text) string {
	return r.state.Digest + "." + SecretDigest(key)
}

// DigestOfState is which request a state belongs to, and the error [ConsentEnded] when it does not belong to the
// browser that has the key.
func DigestOfState(state string, key Text) (digest string, err error) {
	digest, challenge, ok := strings.Cut(state, ".")
	if !ok || key.IsZero() || subtle.ConstantTimeCompare([]byte(challenge), []byte(SecretDigest(key))) != 1 {
		return "", ConsentEnded()
	}
	return digest, nil
}

// AuthorizationRequest is the URL at which a person consents (RFC 6749, §4.1.1; RFC 7636, §4.3). What the
// connection's own URL asks for, such as access_type=offline, stays; it cannot set what is set here.
func (r *ConsentRequest) AuthorizationRequest(c OAuth, key Text, redirect string) (string, error) {
	u, err := url.Parse(c.AuthorizationURL)
	if err != nil {
		return "", domain.Fail(domain.Invalid, "connection_invalid", "The authorizationUrl is not a URL.")
	}
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", c.ClientID)
	q.Set("redirect_uri", redirect)
	q.Set("state", r.StateFor(key))
	q.Set("code_challenge", SecretDigest(key))
	q.Set("code_challenge_method", "S256")
	q.Del("scope")
	if len(c.Scopes) > 0 {
		q.Set("scope", strings.Join(c.Scopes, " "))
	}
	for _, other := range []string{"request", "request_uri", "response_mode"} { // they would take the place of the others
		q.Del(other)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// IssuedBy says whether an issuer that came with a code (RFC 9207) can be that of a client: its host is
// that of the authorization or the token URL. A server that has people sent on to another one to get at
// its codes is found by it. None came where the text is empty.
func (c OAuth) IssuedBy(issuer string) bool {
	if issuer == "" {
		return true
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return false
	}
	sameHost := func(text string) bool {
		own, err := url.Parse(text)
		return err == nil && strings.EqualFold(own.Host, u.Host)
	}
	return sameHost(c.AuthorizationURL) || sameHost(c.TokenURL)
}
