package hook

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Explanation says why a delivery is verified or not, to whoever has the tenant's secret key. It holds no secret.
type Explanation struct {
	Verified     bool
	Scheme       string
	SignedString string // what the sender must have signed; empty where nothing is signed, or it cannot be told
	Expected     string // the signature of the first secret, as the header must hold it; empty likewise
	Given        string // what the request bears; empty for nothing, and [Redacted] for a secret
	Reason       Reason // empty when verified
}

// Explain verifies a sample.
func (s Scheme) Explain(secrets []Secret, r Request, now time.Time) Explanation {
	result := s.Verify(secrets, r, now)
	explanation := Explanation{Verified: result.Verified, Scheme: s.Name(), Reason: result.Reason}
	if result.Challenge != nil && !s.signsBody(r) {
		return explanation
	}
	m, ok := s.methodOf(r, secrets)
	if !ok {
		return explanation
	}
	if !m.signs() {
		if given, reason := m.sentSecrets(r); reason == "" && len(given) > 0 {
			explanation.Given = Redacted
		}
		return explanation
	}
	explanation.Given = strings.Join(r.Headers[m.header], ", ")
	e, _ := m.evidenceFor(r)
	if len(e.signed) == 0 {
		return explanation
	}
	explanation.SignedString, explanation.Expected = m.expected(secrets, e, explanation.Given)
	return explanation
}

// methodOf is the method that a request answers to: the first whose header it bears and for which there is a secret, else the
// first whose header it bears, else the first.
func (s Scheme) methodOf(r Request, secrets []Secret) (found method, ok bool) {
	best := -1
	for _, m := range s.methods {
		score := 0
		if m.header != "" && len(r.Headers[m.header]) > 0 {
			score += 2
		}
		for _, secret := range secrets {
			if m.uses(secret.Kind()) {
				score |= 1
			}
		}
		if score > best {
			found, best = m, score
		}
	}
	return found, best >= 0
}

// expected is what must be signed, and the header's value by a secret: by that one, and in that form of the address, that fits
// what is given, and otherwise the first. A signature that only the sender can make is empty.
func (m method) expected(secrets []Secret, e evidence, given string) (signed, header string) {
	signed = legible(e.signed[0])
	if m.kind != KindHMAC {
		return signed, ""
	}
	for _, secret := range secrets {
		if !m.uses(secret.Kind()) {
			continue
		}
		for _, key := range secret.keys(m.key) {
			for _, candidate := range e.signed {
				signature := m.encoding.encode(m.algorithm.sum(key, candidate))
				if fits := strings.Contains(m.normal(given), signature); fits || header == "" {
					signed, header = legible(candidate), m.headerOf(signature, e)
				}
			}
		}
	}
	return signed, header
}

func (m method) headerOf(signature string, e evidence) string {
	if m.time.prefix != "" {
		return m.time.prefix + e.timestamp + m.separator + m.prefix + signature
	}
	return m.prefix + signature
}

// legible shows bytes that are no text as U+FFFD.
func legible(b []byte) string { return strings.ToValidUTF8(string(b), string(utf8.RuneError)) }
