package member

import (
	"net/mail"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// MaxEmail is how many characters an address may have (RFC 5321, §4.5.3.1.3).
const MaxEmail = 254

// Email is a mail address, in lower case: whoever writes it otherwise means the same person.
type Email string

// ParseEmail reads an address. Only ASCII is taken, because letters of other scripts look alike. ok is false for
// what is no address.
func ParseEmail(text string) (address Email, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(text) > MaxEmail || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", false
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" || strings.ContainsAny(text, `"<>`) {
		return "", false
	}
	return Email(text), true
}

// readEmail is ParseEmail for a member of a request.
func readEmail(r *domain.Rules, text, field string) Email {
	address, ok := ParseEmail(text)
	r.Check(text != "", field, domain.Required, "must not be empty")
	r.Check(ok || text == "", field, domain.BadFormat, "must be a mail address such as anna@example.com, at most %d characters of ASCII", MaxEmail)
	return address
}

// Domain is what stands behind the last @.
func (e Email) Domain() string { return string(e)[strings.LastIndexByte(string(e), '@')+1:] }
