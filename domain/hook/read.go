package hook

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// object reads the members of one object that a client sent, and records what is wrong with them.
type object struct {
	rules   *domain.Rules
	path    string
	members map[string]json.RawMessage
	names   []string // as they were written
	known   []string
}

// readObject records a member that is written twice; ok is false where the text is no object.
func readObject(r *domain.Rules, path string, text []byte) (o *object, ok bool) {
	o = &object{rules: r, path: path, members: map[string]json.RawMessage{}}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		r.Check(false, path, domain.WrongType, "must be an object")
		return o, false
	}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || decoder.Decode(&value) != nil {
			r.Check(false, path, domain.BadFormat, "must be a JSON object")
			return o, false
		}
		if _, seen := o.members[name]; seen {
			r.Check(false, o.at(domain.Clip(name, 50)), domain.Duplicate, "must be written once")
		}
		o.members[name], o.names = value, append(o.names, name)
	}
	return o, true
}

func (o *object) at(name string) string { return domain.Member(o.path, name) }

func (o *object) refuse(name string, code domain.ViolationCode, format string, args ...any) {
	o.rules.Check(false, o.at(name), code, format, args...)
}

// get is a member that is neither absent nor null.
func (o *object) get(name string) (value json.RawMessage, given bool) {
	o.known = append(o.known, name)
	value, given = o.members[name]
	return value, given && string(value) != "null"
}

// text reads an optional string.
func (o *object) text(name string, most int) (text string, given bool) {
	value, given := o.get(name)
	if !given {
		return "", false
	}
	if value[0] != '"' || json.Unmarshal(value, &text) != nil {
		o.refuse(name, domain.WrongType, "must be a string")
		return "", false
	}
	o.rules.Text(text, o.at(name), 1, most)
	return text, !o.rules.Broken(o.at(name))
}

// need reads a string that must be given.
func (o *object) need(name string, most int) (text string, ok bool) {
	if _, given := o.get(name); !given {
		o.refuse(name, domain.Required, "must be given")
		return "", false
	}
	return o.text(name, most)
}

// whole reads an optional whole number within bounds.
func (o *object) whole(name string, least, most int) (n int, given bool) {
	value, given := o.get(name)
	if !given {
		return 0, false
	}
	number, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil || value[0] == '"':
		o.refuse(name, domain.WrongType, "must be a number")
	case number != math.Trunc(number):
		o.refuse(name, domain.NotWhole, "must be a whole number")
	case number < float64(least):
		o.refuse(name, domain.TooSmall, "must be at least %d", least)
	case number > float64(most):
		o.refuse(name, domain.TooLarge, "must be at most %d", most)
	default:
		return int(number), true
	}
	return 0, false
}

// choice reads one of a few words.
func choice[T ~string](o *object, name string, allowed ...T) (word T, ok bool) {
	text, ok := o.text(name, 100)
	if ok && !slices.Contains(allowed, T(text)) {
		o.refuse(name, domain.NotAllowed, "must be %s, not %q", domain.OneOf(allowed...), text)
		ok = false
	}
	return T(text), ok
}

// needChoice reads one that must be given.
func needChoice[T ~string](o *object, name string, allowed ...T) (word T, ok bool) {
	if _, given := o.get(name); !given {
		o.refuse(name, domain.Required, "must be %s", domain.OneOf(allowed...))
		return "", false
	}
	return choice(o, name, allowed...)
}

// done records members that nobody asked for: one that is misspelt would leave a hook open.
func (o *object) done(where string) {
	for _, name := range o.names {
		if !slices.Contains(o.known, name) {
			o.refuse(domain.Clip(name, 50), domain.NotAllowed, "is not known %s", where)
		}
	}
}
