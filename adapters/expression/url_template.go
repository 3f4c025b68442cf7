package expression

import (
	"bytes"
	"strings"

	"github.com/sluicehq/sluice/adapters/expression/language"
)

// place is where in a URL the next character stands (RFC 3986, §3).
type place int

const (
	inScheme    place = iota
	inSlashes         // after the colon and the first slash
	inAuthority       // the host and its port
	inPath
	inQuery
	inFragment
)

// urlText puts a URL together, so that no value of an expression reaches out of the
// place that its author has given it.
type urlText struct {
	language.TextBuilder
	m      *language.Machine
	place  place
	before byte       // the last character that was written, 0 for none
	host   authority  // what the host and the port are made of
	values []pathSpan // of expressions, within the path
}

// pathSpan is what one expression gave in the path.
type pathSpan struct{ from, to, at int }

// renderURL computes a text that is a URL. The value of an expression at its very
// beginning is taken as it is, for it says where to call. Behind that, a value in the
// path, the query or the fragment is encoded as encodeURIComponent does, unless that
// is what the expression itself calls; one in the scheme or the host must be made of
// the characters that stand there, and leaves what is written out of them as it is. A
// value may not make a whole segment of the path out of "." or "..", which receivers
// resolve, encoded or not (RFC 3986, §5.2.4).
func (t *template) renderURL(m *language.Machine) any {
	if len(t.parts) == 1 {
		return t.render(m)
	}
	u := &urlText{TextBuilder: language.NewTextBuilder(m), m: m}
	opening := t.opening()
	for i, p := range t.parts {
		switch {
		case p.isPlain() && i == 0:
			u.write(strings.TrimLeft(p.plain, blanks))
		case p.isPlain():
			u.write(p.plain)
		default:
			m.Step()
			value := m.Text(p.Eval(m))
			m.MoveTo(p.At)
			u.insert(p, value, i == opening)
		}
	}
	u.leaveHost()
	u.checkPath()
	return u.String()
}

const blanks = " \t\r\n"

// opening is the place of the expression whose value is taken as it is, because it
// gives the beginning of the URL; -1 when the beginning is written out. An expression
// in front of :// gives the scheme and nothing else.
func (t *template) opening() int {
	first := 0
	if t.parts[0].isPlain() {
		if first = 1; strings.TrimLeft(t.parts[0].plain, blanks) != "" || len(t.parts) == 1 {
			return -1
		}
	}
	for _, p := range t.parts[first:] {
		if p.isPlain() {
			if end := strings.Index(p.plain, "://"); end >= 0 && !strings.ContainsFunc(p.plain[:end], notOfScheme) {
				return -1
			}
			break
		}
	}
	return first
}

func notOfScheme(c rune) bool {
	return c >= 0x80 || !isAlphanumeric(byte(c)) && !strings.ContainsRune(schemeMarks, c)
}

// write adds text and follows where it leads.
func (u *urlText) write(s string) {
	from := len(u.Bytes())
	u.m.Work(4 * len(s))
	u.Add(s)
	for i := range len(s) {
		u.follow(s[i], from+i)
	}
}

// follow takes the character that stands at a place of the URL.
func (u *urlText) follow(c byte, at int) {
	if u.place == inAuthority {
		if strings.IndexByte(endsHost, c) < 0 {
			u.host.write(at)
		} else {
			u.leaveHost()
		}
	}
	switch {
	case u.place == inFragment:
	case c == '#':
		u.place = inFragment
	case u.place == inQuery:
	case c == '?':
		u.place = inQuery
	case u.place == inScheme && c == '/' && u.before == ':':
		u.place = inSlashes
	case u.place == inSlashes && c == '/':
		u.place = inAuthority
	case c == '/' || u.place == inSlashes:
		u.place = inPath
	}
	u.before = c
}

// insert adds the value of an expression.
func (u *urlText) insert(p part, value string, first bool) {
	switch {
	case first:
		u.write(value)
	case u.place == inScheme || u.place == inSlashes:
		u.check(value, schemeMarks, `its scheme is, so it must be letters and digits; what gives the whole beginning, such as "https://example.com", must stand first`)
		u.write(value)
	case u.place == inAuthority:
		u.check(value, "-._~:[]", `its host is, so it must be a name or an address, possibly with a port, such as "example.com:8080"; write the / that begins the path in front of the {{`)
		from := len(u.Bytes())
		u.Add(value)
		u.host.give(from, len(u.Bytes()), p.At)
	default:
		if p.Calls != "encodeURIComponent" { // or it would be encoded once more
			value = u.m.EncodeURIComponent(value)
		}
		from := len(u.Bytes())
		u.Add(value) // holds nothing that leads to another place
		if u.place == inPath {
			u.values = append(u.values, pathSpan{from, len(u.Bytes()), p.At})
		}
		u.before = 'x'
	}
}

const schemeMarks = "+-."

// check demands a value that is made of letters, digits and the marks. Letters beyond
// ASCII make a host's international name.
func (u *urlText) check(value, marks, where string) {
	u.m.Work(8 * len(value))
	for i := range len(value) {
		c := value[i]
		if !isAlphanumeric(c) && !strings.ContainsRune(marks, rune(c)) && (c < 0x80 || u.place != inAuthority) {
			u.m.Fail(language.CodeBadArgument, "the value stands in the URL where "+where)
		}
	}
}

// checkPath refuses segments of the path that lead upwards because of a value.
func (u *urlText) checkPath() {
	u.m.Work(2 * len(u.Bytes()))
	end, checked := len(u.Bytes()), -1
	for _, span := range u.values {
		if span.from <= checked {
			continue // in a segment that was looked at
		}
		from := bytes.LastIndexByte(u.Bytes()[:span.from], '/') + 1
		to := end
		if i := bytes.IndexAny(u.Bytes()[span.from:], "/?#"); i >= 0 {
			to = span.from + i
		}
		if checked = to; to-from > len("%2e%2e") {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(string(u.Bytes()[from:to])), "%2e", ".") {
		case ".", "..":
			u.m.MoveTo(span.at)
			u.m.Fail(language.CodeBadArgument, `the value must not make a segment of the URL's path that is "." or "..", which receivers take for another folder`)
		}
	}
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
