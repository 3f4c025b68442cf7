package connection

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Redacted stands where a secret member is left out of an answer. A client that sends it
// back keeps the stored value.
const Redacted = "[redacted]"

// Text is a secret text. Printing it, or what holds it, gives dots or an address.
// [Text.Reveal] is the only way to it.
type Text struct{ value *string } // behind a pointer, because fmt reads unexported members

// NewText hides a text.
func NewText(text string) Text { return Text{&text} }

// Reveal returns the text; the zero value has an empty one.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// String hides the text.
func (t Text) String() string { return "…" }

// GoString hides the text.
func (t Text) GoString() string { return t.String() }

// MarshalText hides the text from encoders.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Equal compares the texts.
func (t Text) Equal(other Text) bool { return t.Reveal() == other.Reveal() }

// Secret is what a connection of some kind authenticates with: members by name, some of
// which may be shown. Printing it gives dots. The zero value has no members.
type Secret struct {
	kind    Kind
	members map[string]Text
	scopes  []string // of OAuth; nil when none were given
}

// Kind is the kind of connection that the secret is for.
func (s Secret) Kind() Kind { return s.kind }

// Member returns a member; ok is false when it has none of the name.
func (s Secret) Member(name string) (text Text, ok bool) {
	text, ok = s.members[name]
	return text, ok
}

// reveal is the text of a member, empty when there is none.
func (s Secret) reveal(name string) string { return s.members[name].Reveal() }

// names are those of the members, sorted.
func (s Secret) names() []string { return slices.Sorted(maps.Keys(s.members)) }

// Shown is what an answer shows: the members by name, as JSON has them, with [Redacted]
// for those that are never shown.
func (s Secret) Shown() map[string]any {
	shown := make(map[string]any, len(s.members)+1)
	for name, text := range s.members {
		shown[name] = Redacted
		if m, known := memberOf(s.kind, name); known && m.shown {
			shown[name] = text.Reveal()
		}
	}
	if s.scopes != nil {
		shown[scopesMember] = slices.Clone(s.scopes)
	}
	return shown
}

// Reveal writes all members as a JSON object, for the store, which encrypts it.
func (s Secret) Reveal() string {
	all := make(map[string]any, len(s.members)+1)
	for name, text := range s.members {
		all[name] = text.Reveal()
	}
	if s.scopes != nil {
		all[scopesMember] = s.scopes
	}
	text, _ := json.Marshal(all) // texts can always be written
	return string(text)
}

// ErrMalformedSecret is what [RestoreSecret] returns for a text that is none. It does not
// hold the text.
var ErrMalformedSecret = errors.New("connection: the text is not the secret of a connection")

// RestoreSecret reads what [Secret.Reveal] gave, without applying any rule.
func RestoreSecret(kind Kind, text string) (Secret, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil || all == nil {
		return Secret{}, ErrMalformedSecret
	}
	s := Secret{kind: kind, members: make(map[string]Text, len(all))}
	for name, raw := range all {
		var value string
		switch {
		case name == scopesMember && kind.IsOAuth():
			if json.Unmarshal(raw, &s.scopes) != nil {
				return Secret{}, ErrMalformedSecret
			}
			continue
		case json.Unmarshal(raw, &value) != nil:
			return Secret{}, ErrMalformedSecret
		}
		s.members[name] = NewText(value)
	}
	return s, nil
}

// Equal compares kind and members.
func (s Secret) Equal(other Secret) bool {
	return s.kind == other.kind && maps.EqualFunc(s.members, other.members, Text.Equal) && slices.Equal(s.scopes, other.scopes)
}

// String hides the members.
func (s Secret) String() string { return "…" }

// GoString hides the members.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the members from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
