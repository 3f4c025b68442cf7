package connection

import (
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of a secret.
const (
	maxSecretText  = 16_384 // characters of a member
	maxSecretName  = 255    // characters of a name that the client chooses
	maxSecretNamed = 20     // members that the client names
	maxScopes      = 100
	maxScope       = 255      // characters
	maxSecret      = 64 << 10 // bytes of all members as JSON
)

const secretField = "secret"

// readSecret reads the members that a client sent, a JSON object, and records everything
// that is wrong with them in r, without repeating a value. [Redacted] stands for the
// member of stored, which is the zero value for a new connection.
func readSecret(r *domain.Rules, kind Kind, given map[string]any, stored Secret) Secret {
	s := Secret{kind: kind, members: make(map[string]Text)}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := domain.Member(secretField, domain.Clip(name, maxSecretName))
		if given[name] == nil {
			continue // as if it were absent
		}
		if name == scopesMember && kind.IsOAuth() {
			s.scopes = readScopes(r, at, given[name])
			continue
		}
		fixed, known := memberOf(kind, name)
		if !known && !kind.named() {
			r.Check(false, at, domain.NotAllowed, "is no member of the secret of a connection of the kind %s", kind)
			continue
		}
		text, isText := given[name].(string)
		r.Check(isText, at, domain.WrongType, "must be a string")
		if !isText || text == "" && !fixed.blank && !kind.named() {
			continue // what an editor left blank is absent
		}
		if kept, ok := stored.members[name]; ok && text == Redacted {
			s.members[name] = kept
			continue
		}
		r.Check(text != Redacted, at, domain.NotAllowed, "must be given: nothing is stored for which %s could stand", Redacted)
		r.Text(text, at, 0, maxSecretText)
		if known {
			fixed.check(r, at, text)
		} else {
			checkNamed(r, kind, at, name, text)
		}
		s.members[name] = NewText(text)
	}
	s.check(r)
	return s
}

func checkNamed(r *domain.Rules, kind Kind, at, name, text string) {
	r.Text(name, at, 1, maxSecretName)
	r.Check(text != "", at, domain.Required, "must not be empty")
	if kind == Header {
		checkHeaderName(r, at, name)
		checkHeaderValue(r, at, text)
	}
}

// readScopes reads a list of texts, or one text with spaces between them, as RFC 6749 §3.3
// writes scopes.
func readScopes(r *domain.Rules, at string, given any) []string {
	var scopes []string
	switch v := given.(type) {
	case string:
		scopes = strings.Fields(v)
	case []any:
		for i, one := range v {
			text, isText := one.(string)
			r.Check(isText, domain.Index(at, i), domain.WrongType, "must be a string")
			scopes = append(scopes, text)
		}
	default:
		r.Check(false, at, domain.WrongType, "must be an array of strings")
	}
	r.Check(len(scopes) <= maxScopes, at, domain.TooLong, "must be at most %d scopes, not %d", maxScopes, len(scopes))
	for i, scope := range scopes {
		if r.Full() {
			break
		}
		r.Text(scope, domain.Index(at, i), 1, maxScope)
		checkVisible(r, domain.Index(at, i), scope)
	}
	return scopes
}

// check demands what relates the members to one another.
func (s Secret) check(r *domain.Rules) {
	for _, m := range membersOf[s.kind] {
		_, given := s.members[m.name]
		r.Check(given || !m.required, domain.Member(secretField, m.name), domain.Required, "must be given for the kind %s", s.kind)
	}
	switch s.kind {
	case Header, Query:
		r.Check(len(s.members) > 0, secretField, domain.Required, "must have a member for each %s", nouns[s.kind])
		r.Check(len(s.members) <= maxSecretNamed, secretField, domain.TooLong, "must have at most %d members, not %d", maxSecretNamed, len(s.members))
		if s.kind == Header {
			s.checkSpellings(r)
		}
	case HMAC:
		_, key := s.members[keyMember]
		_, public := s.members[publicKeyMember]
		r.Check(key || public, domain.Member(secretField, keyMember), domain.Required, "must be given, or %s in its place", publicKeyMember)
		r.Check(!key || !public, domain.Member(secretField, publicKeyMember), domain.Conflicting, "must be left out next to %s", keyMember)
	case MTLS:
		checkPair(r, secretField, s)
	}
	size := len(s.Reveal())
	r.Check(size <= maxSecret, secretField, domain.TooLong, "must take at most %d bytes as JSON, not %d", maxSecret, size)
}

var nouns = map[Kind]string{Header: "header", Query: "parameter"}

// checkSpellings demands that no header is given under two spellings.
func (s Secret) checkSpellings(r *domain.Rules) {
	seen := make(map[string]string)
	for _, name := range s.names() {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		before, repeated := seen[canonical]
		r.Check(!repeated, domain.Member(secretField, domain.Clip(name, maxSecretName)), domain.Duplicate, "repeats the header %s", before)
		seen[canonical] = name
	}
}

// renews says whether a client gave every member that is never shown, and none of them as
// [Redacted].
func (s Secret) renews(given map[string]any) bool {
	for name := range s.members {
		if m, known := memberOf(s.kind, name); known && m.shown {
			continue
		}
		if text, _ := given[name].(string); text == Redacted {
			return false
		}
	}
	return true
}
