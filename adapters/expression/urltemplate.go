package expression

import (
	"bytes"
	"strings"

	"github.com/dop251/goja/ast"
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
	text
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
func (t *Template) renderURL(m *machine) any {
	if len(t.parts) == 1 {
		return t.render(m)
	}
	u := &urlText{text: text{m: m}}
	opening := t.opening()
	for i, part := range t.parts {
		switch {
		case part.run == nil && i == 0:
			u.write(strings.TrimLeft(part.plain, blanks))
		case part.run == nil:
			u.write(part.plain)
		default:
			m.step()
			value := m.inText(part.run(m))
			m.at = part.at
			u.insert(part, value, i == opening)
		}
	}
	u.leaveHost()
	u.checkPath()
	return u.string()
}

const blanks = " \t\r\n"

// opening is the place of the expression whose value is taken as it is, because it
// gives the beginning of the URL; -1 when the beginning is written out. An expression
// in front of :// gives the scheme and nothing else.
func (t *Template) opening() int {
	first := 0
	if t.parts[0].run == nil {
		if first = 1; strings.TrimLeft(t.parts[0].plain, blanks) != "" || len(t.parts) == 1 {
			return -1
		}
	}
	for _, part := range t.parts[first:] {
		if part.run == nil {
			if end := strings.Index(part.plain, "://"); end >= 0 && !strings.ContainsFunc(part.plain[:end], notOfScheme) {
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
	from := len(u.b)
	u.m.work(4 * len(s))
	u.add(s)
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
func (u *urlText) insert(part templatePart, value string, first bool) {
	switch {
	case first:
		u.write(value)
	case u.place == inScheme || u.place == inSlashes:
		u.check(value, schemeMarks, `its scheme is, so it must be letters and digits; what gives the whole beginning, such as "https://example.com", must stand first`)
		u.write(value)
	case u.place == inAuthority:
		u.check(value, "-._~:[]", `its host is, so it must be a name or an address, possibly with a port, such as "example.com:8080"; write the / that begins the path in front of the {{`)
		from := len(u.b)
		u.add(value)
		u.host.give(from, len(u.b), part.at)
	default:
		if !part.encoded {
			value = u.m.encodeURI(value, componentMarks)
		}
		from := len(u.b)
		u.add(value) // holds nothing that leads to another place
		if u.place == inPath {
			u.values = append(u.values, pathSpan{from, len(u.b), part.at})
		}
		u.before = 'x'
	}
}

const schemeMarks = "+-."

// check demands a value that is made of letters, digits and the marks. Letters beyond
// ASCII make a host's international name.
func (u *urlText) check(value, marks, where string) {
	u.m.work(8 * len(value))
	for i := range len(value) {
		c := value[i]
		if !isAlphanumeric(c) && !strings.ContainsRune(marks, rune(c)) && (c < 0x80 || u.place != inAuthority) {
			panic(u.m.fault(CodeBadArgument, "the value stands in the URL where %s", where))
		}
	}
}

// checkPath refuses segments of the path that lead upwards because of a value.
func (u *urlText) checkPath() {
	u.m.work(2 * len(u.b))
	end, checked := len(u.b), -1
	for _, span := range u.values {
		if span.from <= checked {
			continue // in a segment that was looked at
		}
		from := bytes.LastIndexByte(u.b[:span.from], '/') + 1
		to := end
		if i := bytes.IndexAny(u.b[span.from:], "/?#"); i >= 0 {
			to = span.from + i
		}
		if checked = to; to-from > len("%2e%2e") {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(string(u.b[from:to])), "%2e", ".") {
		case ".", "..":
			u.m.at = span.at
			panic(u.m.fault(CodeBadArgument, `the value must not make a segment of the URL's path that is "." or "..", which receivers take for another folder`))
		}
	}
}

// encodesItself says whether the expression is a call of encodeURIComponent, whose
// value must not be encoded once more.
func (c *compiler) encodesItself(n ast.Expression) bool {
	call, isCall := n.(*ast.CallExpression)
	if !isCall {
		return false
	}
	name, isName := call.Callee.(*ast.Identifier)
	return isName && name.Name == "encodeURIComponent" && c.builtIn("encodeURIComponent")
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
