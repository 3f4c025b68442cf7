package domain

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Facts are what a record says of itself, by name, as texts of JSON. What is absent or empty has no fact.
type Facts map[string]Fact

// Fact is one value.
type Fact struct {
	text   string
	hidden [sha256.Size]byte // of a secret: only whether it changed is known
}

// Redacted stands for a secret.
const Redacted = `"[redacted]"`

// MaxFact is how long the text of a fact may be. What is longer is told by its length and its SHA-256.
const MaxFact = 2048

// String is the text of JSON; of a secret it is [Redacted].
func (f Fact) String() string { return f.text }

// TextFact is a fact of any text of JSON.
func TextFact(text string) Fact {
	if len(text) <= MaxFact {
		return Fact{text: text}
	}
	return DigestFact(text)
}

// DigestFact says of a text how long it is, and its SHA-256.
func DigestFact(text string) Fact {
	digest := sha256.Sum256([]byte(text))
	return Fact{text: fmt.Sprintf(`{"bytes":%d,"sha256":"%s"}`, len(text), hex.EncodeToString(digest[:]))}
}

// HiddenFact is a secret, which is compared and never shown.
func HiddenFact(secret string) Fact {
	return Fact{text: Redacted, hidden: sha256.Sum256([]byte(secret))}
}

// notFacts are the fields of every state that say nothing of what somebody changed.
var notFacts = map[string]bool{"ID": true, "Tenant": true, "CreatedAt": true, "UpdatedAt": true, "Revision": true}

// FactsOf reads the exported fields of a state. A field is called as in Go, with a small letter in front, unless its tag
// fact says otherwise; fact:"-" leaves it out, and the fields of an embedded struct, or one with fact:"+", count as its
// own. What is kept as a text of JSON gives that. Secrets, which are types with Reveal, what is bytes, such as hashes, and
// a field whose tag ends with ",hidden" are hidden.
func FactsOf(state any) Facts {
	facts := make(Facts)
	facts.read(reflect.ValueOf(state))
	return facts
}

func (fs Facts) read(v reflect.Value) {
	for i := range v.NumField() {
		field, tag := v.Type().Field(i), v.Type().Field(i).Tag.Get("fact")
		switch {
		case tag == "-" || !field.IsExported() || notFacts[field.Name]:
		case tag == "+" || field.Anonymous:
			fs.read(v.Field(i))
		default:
			name, hidden := strings.CutSuffix(tag, ",hidden")
			if name == "" {
				name = factName(field.Name)
			}
			if f, ok := factOf(v.Field(i)); ok {
				if hidden {
					f = HiddenFact(f.text)
				}
				fs[name] = f
			}
		}
	}
}

// FactTree is what encoding/json writes of a value as facts are written.
func FactTree(value any) any { return factValue(reflect.ValueOf(value)) }

// factOf is the fact of a value; ok is false where there is none.
func factOf(v reflect.Value) (f Fact, ok bool) {
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Int && v.Kind() != reflect.Int64 {
		return f, false
	}
	if secret, isSecret := hiddenOf(v); isSecret {
		return HiddenFact(secret), secret != ""
	}
	text, err := json.Marshal(factValue(v))
	if err != nil || string(text) == "null" {
		return f, false
	}
	return TextFact(string(text)), true
}

// hiddenOf is what identifies a value that nobody may see.
func hiddenOf(v reflect.Value) (secret string, ok bool) {
	if revealing, isSecret := v.Interface().(interface{ Reveal() string }); isSecret {
		return revealing.Reveal(), true
	}
	if kind := v.Kind(); (kind == reflect.Array || kind == reflect.Slice) && v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("%x", v.Interface()), true
	}
	return "", false
}

// factValue is what encoding/json makes a readable text of.
func factValue(v reflect.Value) any {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return nil
	}
	if _, isSecret := hiddenOf(v); isSecret {
		return json.RawMessage(Redacted)
	}
	if kind := v.Kind(); kind == reflect.Pointer || kind == reflect.Interface {
		return factValue(v.Elem())
	}
	switch known := v.Interface().(type) {
	case time.Time:
		return known.UTC()
	case json.Marshaler, encoding.TextMarshaler:
		return known
	case interface{ Document() Document }:
		return json.RawMessage(known.Document().String())
	case interface{ Texts() []string }:
		return known.Texts()
	case fmt.Stringer:
		return textOrDocument(known.String())
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = factValue(v.Index(i))
		}
		return all
	case reflect.Map:
		all := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			all[fmt.Sprint(key.Interface())] = factValue(v.MapIndex(key))
		}
		return all
	case reflect.Struct:
		all := make(map[string]any)
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !v.Field(i).IsZero() {
				all[factName(field.Name)] = factValue(v.Field(i))
			}
		}
		return all
	default:
		return v.Interface()
	}
}

// textOrDocument is what a value writes itself as.
func textOrDocument(text string) any {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// factName writes an exported name with small letters in front: URL is url, and RunID runID.
func factName(name string) string {
	letters := []rune(name)
	for i := range letters {
		if i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}
