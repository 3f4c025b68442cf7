package hook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxListed bounds what a header lists.
const maxListed = 64

// evidence is what a request bears for a method that signs.
type evidence struct {
	signatures []string // as text, without their prefix
	timestamp  string   // as it was sent
	at         time.Time
	id         string
	signed     [][]byte // what must be signed, of each form of the address
}

func (m method) verifySignature(secrets []Secret, r Request) Result {
	e, reason := m.read(r)
	result := Result{ID: e.id, Timestamp: e.at, Reason: reason}
	if reason != "" {
		return result
	}
	result.Reason = SecretMissing
	for _, secret := range secrets {
		if !m.uses(secret.Kind()) || secret.text() == "" {
			continue
		}
		switch {
		case m.fits(secret, e) == 1:
			result.Verified, result.Reason, result.Secret = true, "", secret.Source()
		case !result.Verified:
			result.Reason = SignatureMismatch
		}
	}
	return result
}

// fits is 1 when a signature is by the secret. Each signature is compared whatever the others are.
func (m method) fits(secret Secret, e evidence) (fits int) {
	for _, signed := range e.signed {
		if m.kind == KindEd25519 {
			for _, text := range e.signatures {
				signature, ok := m.encoding.decode(text)
				if ok && len(signature) == ed25519.SignatureSize && ed25519.Verify(ed25519.PublicKey(secret.text()), signed, signature) {
					fits = 1
				}
			}
			continue
		}
		for _, key := range secret.keys(m.key) {
			want := []byte(m.encoding.encode(m.algorithm.sum(key, signed)))
			for _, text := range e.signatures {
				fits |= subtle.ConstantTimeCompare(want, []byte(m.normal(text)))
			}
		}
	}
	return fits
}

// normal is a signature in the one spelling that [Encoding.encode] has.
func (m method) normal(text string) string {
	switch {
	case m.anyCase && m.encoding == Hex:
		return strings.ToLower(text)
	case m.encoding == Base64URL:
		return strings.TrimRight(text, "=")
	default:
		return text
	}
}

// read finds what the request bears.
func (m method) read(r Request) (e evidence, reason Reason) {
	switch values := r.Headers[m.header]; {
	case len(values) == 0:
		return e, SignatureMissing
	case len(values) > 1:
		return e, SignatureRepeated
	}
	listed := m.listed(r)
	for _, item := range listed {
		if signature, ok := strings.CutPrefix(item, m.prefix); ok && signature != "" {
			e.signatures = append(e.signatures, signature)
		}
	}
	if len(e.signatures) == 0 || len(e.signatures) > maxSignatures || len(listed) > maxListed {
		return e, SignatureMalformed
	}
	signatures := e.signatures
	e, reason = m.evidenceFor(r)
	e.signatures = signatures
	return e, reason
}

// listed are the items of the header.
func (m method) listed(r Request) []string {
	value := r.Headers.first(m.header)
	if m.separator == "" {
		return []string{value}
	}
	items := strings.SplitN(value, m.separator, maxListed+1)
	for i := range items {
		items[i] = strings.Trim(items[i], " \t")
	}
	return items
}

// evidenceFor finds what must be signed.
func (m method) evidenceFor(r Request) (e evidence, reason Reason) {
	if reason = m.readTime(&e, r); reason != "" {
		return e, reason
	}
	if m.id != "" {
		ids := r.Headers[m.id]
		if len(ids) != 1 || ids[0] == "" {
			return e, SignedPartMissing
		}
		e.id = ids[0]
	}
	if reason = m.checkBodyHash(r); reason != "" {
		return e, reason
	}
	for _, address := range m.addresses(r) {
		signed, ok := m.signed.fill(signable{request: r, address: address, timestamp: e.timestamp, id: e.id})
		if !ok {
			return e, SignedPartMissing
		}
		e.signed = append(e.signed, signed)
	}
	return e, ""
}

// readTime finds when the request was sent, as it says.
func (m method) readTime(e *evidence, r Request) Reason {
	var found []string
	switch {
	case m.time.header != "":
		found = r.Headers[m.time.header]
	case m.time.prefix != "":
		for _, item := range m.listed(r) {
			if text, ok := strings.CutPrefix(item, m.time.prefix); ok {
				found = append(found, text)
			}
		}
	case m.time.member != "":
		if value, given := bodyMembers(r)[m.time.member]; given {
			found = []string{string(value)}
		}
	default:
		return ""
	}
	switch {
	case len(found) == 0:
		return TimestampMissing
	case len(found) > 1:
		return TimestampMalformed
	}
	at, ok := m.time.unit.parse(found[0])
	if !ok {
		return TimestampMalformed
	}
	e.timestamp, e.at = found[0], at
	return ""
}

// maxTimeDigits keeps times within the years that Go can compute with.
const maxTimeDigits = 15

func (u Unit) parse(text string) (at time.Time, ok bool) {
	if u == RFC3339 {
		at, err := time.Parse(time.RFC3339, text)
		return at.UTC(), err == nil
	}
	if text == "" || len(text) > maxTimeDigits || strings.Trim(text, "0123456789") != "" {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if u == Milliseconds {
		return time.UnixMilli(n).UTC(), err == nil
	}
	return time.Unix(n, 0).UTC(), err == nil
}

// checkBodyHash holds a body that is no form against the hash in the address, which is signed.
func (m method) checkBodyHash(r Request) Reason {
	if m.bodyHash == "" || len(r.Body) == 0 || mediaType(r.ContentType()) == typeForm {
		return ""
	}
	query, err := url.ParseQuery(r.Query)
	if err != nil || len(query[m.bodyHash]) != 1 {
		return SignedPartMissing
	}
	sum := sha256.Sum256(r.Body)
	if equalTexts(hex.EncodeToString(sum[:]), query[m.bodyHash][0]) != 1 {
		return BodyHashMismatch
	}
	return ""
}

// addresses are the forms in which a sender may have signed the address.
func (m method) addresses(r Request) []string {
	switch {
	case !m.signed.has(partURL):
		return []string{""}
	case m.address == addressDecoded:
		return []string{decodedAddress.Replace(r.URL())}
	case m.address == addressPorts:
		return append([]string{r.URL()}, otherPort(r)...)
	default:
		return []string{r.URL()}
	}
}

// decodedAddress resolves the escapes that HubSpot resolves ("Validate requests using the v3 request signature").
var decodedAddress = strings.NewReplacer(
	"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$",
	"%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
)

// otherPort is the address with a port in place of none, or without its port: which of them Twilio signs differs (its helper library,
// validateRequest).
func otherPort(r Request) []string {
	origin, err := url.Parse(r.Origin)
	if err != nil {
		return nil
	}
	if port := origin.Port(); port != "" {
		return []string{strings.TrimSuffix(r.Origin, ":"+port) + r.Address}
	}
	standard := map[string]string{"https": ":443", "http": ":80"}[origin.Scheme]
	return []string{r.Origin + standard + r.Address}
}

func (a Algorithm) sum(key, signed []byte) []byte {
	newHash := sha256.New
	switch a {
	case SHA1:
		newHash = sha1.New
	case SHA512:
		newHash = sha512.New
	}
	mac := hmac.New(newHash, key)
	mac.Write(signed)
	return mac.Sum(nil)
}

func (e Encoding) encode(b []byte) string {
	switch e {
	case Hex:
		return hex.EncodeToString(b)
	case Base64URL:
		return base64.RawURLEncoding.EncodeToString(b)
	default:
		return base64.StdEncoding.EncodeToString(b)
	}
}

// decode accepts one spelling of each value.
func (e Encoding) decode(text string) (b []byte, ok bool) {
	var err error
	switch e {
	case Hex:
		b, err = hex.DecodeString(text)
	case Base64URL:
		b, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
	default:
		b, err = base64.StdEncoding.Strict().DecodeString(text)
	}
	return b, err == nil && !strings.ContainsAny(text, "\r\n")
}
