package hook

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"time"
)

// Reason says why a delivery is not verified.
type Reason string

// The reasons.
const (
	SignatureMissing    Reason = "signature_missing"     // what proves who sends is absent
	SignatureRepeated   Reason = "signature_repeated"    // a header that proves it came more than once
	SignatureMalformed  Reason = "signature_malformed"   // it is not written as the sender does
	SignatureMismatch   Reason = "signature_mismatch"    // no secret fits
	TimestampMissing    Reason = "timestamp_missing"     // the time of the delivery is absent
	TimestampMalformed  Reason = "timestamp_malformed"   // it is no time, or came more than once
	TimestampTooOld     Reason = "timestamp_too_old"     // genuine, and sent longer ago than is tolerated
	TimestampInFuture   Reason = "timestamp_in_future"   // genuine, and later than is tolerated
	SignedPartMissing   Reason = "signed_part_missing"   // another part of what is signed is absent or unreadable
	BodyHashMismatch    Reason = "body_hash_mismatch"    // the body is not the one whose hash is signed
	SecretMissing       Reason = "secret_missing"        // the hook has no secret that the scheme verifies with
	VerifyTokenMismatch Reason = "verify_token_mismatch" // a challenge names another token
)

// Result says whether a delivery is genuine.
type Result struct {
	Verified  bool
	Reason    Reason    // empty when verified
	Secret    string    // the source of the secret that fits; empty for none
	ID        string    // of the delivery, from a header that is signed; empty for none
	Timestamp time.Time // when it was sent, as it says; zero where the scheme has no time
	Challenge *Answer   // nil for a delivery; else it asks whether the address is ours, starts nothing, and this is the answer
}

// maxSignatures bounds how many signatures of a header are tried.
const maxSignatures = 16

// Verify says whether a request is genuine, and of what age; now is when it was received. Each secret is tried, and how long
// that takes depends on none of them. A challenge that is not signed is answered as its sender wants it.
func (s Scheme) Verify(secrets []Secret, r Request, now time.Time) Result {
	if ask := presets[s.preset].challenge; ask != nil {
		if result, asked := ask.unsigned(secrets, r); asked {
			return result
		}
	}
	result := s.verify(secrets, r, func(m method, at time.Time) Reason {
		switch age := now.Sub(at); {
		case age > m.tolerance:
			return TimestampTooOld
		case age < -m.tolerance:
			return TimestampInFuture
		default:
			return ""
		}
	})
	if ask := presets[s.preset].challenge; ask != nil && result.Verified {
		result.Challenge = ask.signed(r)
	}
	return result
}

// VerifyKept verifies again what was kept of a genuine delivery, whatever its age. What proved itself by a secret that it bore
// is not kept with it, and was verified when it came.
func (s Scheme) VerifyKept(secrets []Secret, r Request) Result {
	bore := false
	for _, m := range s.methods {
		if m.signs() && len(r.Headers[m.header]) > 0 {
			return s.verify(secrets, r, func(method, time.Time) Reason { return "" })
		}
		bore = bore || !m.signs()
	}
	if bore {
		return Result{Verified: true}
	}
	return Result{Reason: SignatureMissing}
}

// verify tries each way of proving.
func (s Scheme) verify(secrets []Secret, r Request, checkAge func(method, time.Time) Reason) Result {
	if !s.canVerify(secrets) {
		return Result{Reason: SecretMissing}
	}
	refused := Result{Reason: SignatureMissing}
	for _, m := range s.methods {
		result := m.verify(secrets, r)
		if result.Verified && m.time.exists() {
			result.Reason = checkAge(m, result.Timestamp)
			result.Verified = result.Reason == ""
			return result
		}
		if result.Verified {
			return result
		}
		if refused.Reason == SignatureMissing || refused.Reason == SecretMissing && result.Reason != SignatureMissing {
			refused = result
		}
	}
	return refused
}

// canVerify says whether there is a secret, where one is needed.
func (s Scheme) canVerify(secrets []Secret) bool {
	return s.IsOpen() || slices.ContainsFunc(secrets, func(secret Secret) bool { return secret.text() != "" && s.Uses(secret.Kind()) })
}

// verify does not look at the age.
func (m method) verify(secrets []Secret, r Request) Result {
	switch m.kind {
	case KindNone:
		return Result{Verified: true}
	case KindHMAC, KindEd25519:
		return m.verifySignature(secrets, r)
	}
	given, reason := m.sentSecrets(r)
	if reason != "" {
		return Result{Reason: reason}
	}
	result := Result{Reason: SecretMissing}
	for _, secret := range secrets {
		if !m.uses(secret.Kind()) || secret.text() == "" {
			continue
		}
		fits := 1
		for _, text := range given {
			fits &= equalTexts(text, secret.text())
		}
		switch {
		case fits == 1:
			result = Result{Verified: true, Secret: secret.Source()}
		case !result.Verified:
			result.Reason = SignatureMismatch
		}
	}
	return result
}

// equalTexts compares in a time that depends on the length of neither.
func equalTexts(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}
