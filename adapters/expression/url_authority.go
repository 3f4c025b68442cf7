package expression

import (
	"strings"

	"github.com/sluicehq/sluice/adapters/expression/language"
)

// authority is what the host and the port of a URL are put together from, in the order
// in which they stand there (RFC 3986, §3.2).
type authority []hostPart

// hostPart is a piece of the authority: what the author wrote, or what an expression
// gave. Where nothing was computed yet, what an expression gives is empty.
type hostPart struct {
	from, to int
	written  bool
	at       int // where the expression begins
}

// write adds the written character that stands at a place of the URL.
func (a *authority) write(place int) {
	if n := len(*a); n > 0 && (*a)[n-1].written {
		(*a)[n-1].to = place + 1
		return
	}
	*a = append(*a, hostPart{from: place, to: place + 1, written: true})
}

// give adds what an expression gives.
func (a *authority) give(from, to, at int) {
	*a = append(*a, hostPart{from: from, to: to, at: at})
}

// endsHost are the characters that an authority ends with.
const endsHost = "/?#"

const (
	lengthensHost = "the value would lengthen the host that is written in front of it; write the / that begins the path in front of the {{, or give the whole host by one expression, https://{{ … }}/"
	lengthensPort = "the value would be a part of the port; write the whole port, or give all of it by one expression"
	hasCredential = "the URL must not hold credentials; send them in a header, such as Authorization"
)

// outline looks at how written and computed pieces follow one another, whatever the
// values are: a host that ends with a value must not begin with written text, which
// another domain could follow then, and of a port all or nothing is computed. It
// returns where what is wrong begins, or "" when nothing is.
func (a authority) outline(url string) (at int, wrong string) {
	host, port := a.split(url)
	for _, part := range a {
		if part.written && strings.Contains(url[part.from:part.to], "@") {
			return a.expression(), hasCredential
		}
	}
	name := false // the host has letters or digits of its author's
	last := -1    // the expression that the host ends with
	for _, part := range host {
		switch {
		case !part.written && name:
			last = part.at
		case part.written && strings.ContainsFunc(url[part.from:part.to], ofName):
			name, last = true, -1
		}
	}
	if last >= 0 {
		return last, lengthensHost
	}
	digits := false
	for _, part := range port {
		digits = digits || part.written
	}
	for _, part := range port {
		if digits && !part.written {
			return part.at, lengthensPort
		}
	}
	return 0, ""
}

func (a authority) expression() int {
	for _, part := range a {
		if !part.written {
			return part.at
		}
	}
	return 0
}

// split divides the pieces at the colon that the author wrote in front of the port. The
// colons of an address stand in brackets.
func (a authority) split(url string) (host, port authority) {
	inside := false
	for i, part := range a {
		if !part.written {
			continue
		}
		for at := part.from; at < part.to; at++ {
			switch c := url[at]; {
			case c == '[' || c == ']':
				inside = c == '['
			case c == ':' && !inside:
				if host = append(host, a[:i]...); part.from < at {
					host = append(host, hostPart{from: part.from, to: at, written: true})
				}
				if at+1 < part.to {
					port = append(port, hostPart{from: at + 1, to: part.to, written: true})
				}
				return host, append(port, a[i+1:]...)
			}
		}
	}
	return a, nil
}

// ofName says of a character that names are made of it.
func ofName(c rune) bool { return c >= 0x80 || isAlphanumeric(byte(c)) }

// leaveHost checks, where the authority ends, what the values have made of it.
func (u *urlText) leaveHost() {
	given := u.host[:0]
	computed := false
	for _, part := range u.host {
		if part.from < part.to { // an empty value changes nothing
			given = append(given, part)
			computed = computed || !part.written
		}
	}
	u.host = nil
	if !computed {
		return
	}
	u.m.Work(32 * len(u.Bytes()))
	u.m.Alloc(len(u.Bytes()) + 64*len(given))
	url := string(u.Bytes())
	if at, wrong := given.outline(url); wrong != "" {
		u.m.MoveTo(at)
		u.m.Fail(language.CodeBadArgument, wrong)
	}
	host, port := given.split(url)
	for _, part := range port {
		if !part.written && strings.ContainsFunc(url[part.from:part.to], notDigit) {
			u.m.MoveTo(part.at)
			u.m.Fail(language.CodeBadArgument, "the value stands in the URL where its port is, so it must be a whole number, such as 8443")
		}
	}
	if len(given) > 1 {
		u.checkNames(url, host, len(port) > 0)
	}
}

func notDigit(c rune) bool { return c < '0' || c > '9' }

// checkNames checks the values in a host that is not given by one expression alone: none
// brings a port, and none behind written text another label of the name.
func (u *urlText) checkNames(url string, host authority, hasPort bool) {
	name, inside := false, false
	for _, part := range host {
		text := url[part.from:part.to]
		if part.written {
			name = name || strings.ContainsFunc(text, ofName)
			if i := strings.LastIndexAny(text, "[]"); i >= 0 {
				inside = text[i] == '['
			}
			continue
		}
		u.m.MoveTo(part.at)
		whole := len(host) == 1 && hasPort && strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
		if !whole && !inside && strings.ContainsAny(text, ":[]") {
			u.m.Fail(language.CodeBadArgument, "the value is a part of the URL's host, so it must hold no port and no brackets; give host and port by one expression, https://{{ … }}/")
		}
		if name && !inside && strings.ContainsAny(text, ".\u3002\uff0e\uff61") { // full stops (RFC 3490, §3.1)
			u.m.Fail(language.CodeBadArgument, "the value stands behind what is written of the URL's host, so it must hold no dots; give the whole host by one expression, https://{{ … }}/")
		}
	}
}

// checkURL finds the expression of a template that gives a URL whose value cannot stand
// where it does, whatever it is; "" when there is none.
func (t *template) checkURL() (at int, wrong string) {
	if len(t.parts) < 2 {
		return 0, ""
	}
	if opening := t.opening(); opening >= 0 {
		return t.checkBehind(opening)
	}
	var u urlText
	var url []byte
	values := 0
parts:
	for i, p := range t.parts {
		switch {
		case p.isPlain():
			plain := p.plain
			if i == 0 {
				plain = strings.TrimLeft(plain, blanks)
			}
			for j := range len(plain) {
				if u.place == inAuthority && strings.IndexByte(endsHost, plain[j]) >= 0 || u.place > inAuthority {
					break parts
				}
				u.follow(plain[j], len(url))
				url = append(url, plain[j])
			}
		case u.place == inSlashes || u.place == inScheme && u.before == ':':
			return p.At, "the value would stand between the scheme and the host; write the // in front of the {{"
		case u.place == inAuthority:
			u.host.give(len(url), len(url), p.At)
			values++
		}
	}
	if values == 0 {
		return 0, ""
	}
	return u.host.outline(string(url))
}

// checkBehind looks at what follows the expression that gives the beginning of the URL,
// scheme and host: text that could be meant for a part of the host would be anything else
// when the value ends the host itself, which is then another one.
func (t *template) checkBehind(opening int) (at int, wrong string) {
	for _, p := range t.parts[opening+1:] {
		if !p.isPlain() {
			continue // its value is looked at when it is there
		}
		text := strings.TrimRight(p.plain, blanks)
		if text == "" || strings.IndexByte("/?#&", text[0]) >= 0 && !strings.HasPrefix(text, "//") {
			break
		}
		return t.parts[opening].At, "the value gives the beginning of the URL, so what is written behind it must begin with /, ? or #; " +
			"write out the scheme, https://{{ … }}, or give scheme and host by the expression alone"
	}
	return 0, ""
}
