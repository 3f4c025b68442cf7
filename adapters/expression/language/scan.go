package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner reads the tokens of one expression before the parser does, because the
// parser recurses without limit and reads statements and regular expressions,
// which the language does not have. It finds where an expression within a
// template ends, too.
type scanner struct {
	text   string
	at     int // the next byte
	end    int // where the text ends
	inside bool
	depth  int // how many brackets may be open
	open   []bracket
	closed bracket // the bracket closed last
	prev   kind    // of the token before
	arrows int     // how many there were
	nested int     // how many of them the next token is within
}

// bracket is an open one; char is '$' for the ${ of a template string and '`' for
// the template string itself.
type bracket struct {
	char   byte
	at     int
	arrows int // how many arrows stood before it
	nested int // how many of them it is within
}

// kind says what a token means for the next one.
type kind byte

const (
	operator kind = iota // an operand follows
	operand              // an operator follows
	dot                  // a member's name follows
	arrow                // a function body follows
	comma                // an operand or a key follows
	brace                // a key follows
	closing              // an operand that ended with a parenthesis
)

// scan reads text[from:end]. With inside it stops before the }} that closes the
// part of a template; the place where it stopped is returned.
func scan(text string, from, end, depth int, inside bool) (int, *fault) {
	s := &scanner{text: text, at: from, end: end, depth: depth, inside: inside}
	for s.at < s.end {
		if s.inside && len(s.open) == 0 && strings.HasPrefix(s.text[s.at:s.end], "}}") {
			return s.at, nil
		}
		if f := s.token(); f != nil {
			return 0, f
		}
	}
	if s.inside {
		return 0, faultf(from-2, CodeUnclosed, "{{ has no }} that closes it; write {{ expression }}, or {{ \"{{\" }} for the braces themselves")
	}
	if len(s.open) > 0 {
		b := s.open[len(s.open)-1]
		return 0, faultf(b.at, CodeSyntax, "%s is not closed; add %s", b.text(), b.closer())
	}
	return s.at, nil
}

// maxArrows bounds the arrow functions within arrow functions. The parser takes time
// that is quadratic in a chain of them and exponential in arrow functions within
// parameter lists, so both are found before it runs.
func (s *scanner) maxArrows() int { return s.depth / 2 }

func (b bracket) text() string {
	if b.char == '$' {
		return "${"
	}
	return string(b.char)
}

func (b bracket) closer() string {
	switch b.char {
	case '(':
		return ")"
	case '[':
		return "]"
	case '`':
		return "`"
	}
	return "}"
}

// token reads one token, comment or run of white space.
func (s *scanner) token() *fault {
	c := s.text[s.at]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f':
		s.at++
	case c == '/':
		return s.slash()
	case c == '"' || c == '\'':
		return s.quoted(c)
	case c == '`':
		return s.enter('`', s.at)
	case c == '(' || c == '[' || c == '{':
		return s.enter(c, s.at)
	case c == ')' || c == ']' || c == '}':
		return s.leave(c)
	case c >= '0' && c <= '9', c == '.' && s.prev != operand && s.digitAt(s.at+1):
		return s.number()
	case c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return s.word()
	case c >= utf8.RuneSelf:
		return s.foreign()
	case c == ';':
		return faultf(s.at, CodeNotAllowed, "; is not permitted: write one expression, without a semicolon")
	case c == '#' || c == '@' || c == '\\' || c < ' ' || c == 0x7f:
		return faultf(s.at, CodeSyntax, "unexpected %q", c)
	default:
		return s.punctuation(c)
	}
	return nil
}

func (s *scanner) digitAt(i int) bool {
	return i < s.end && s.text[i] >= '0' && s.text[i] <= '9'
}

// slash reads a comment or a division. Where an operand is due it would be a
// regular expression, which the language does not have.
func (s *scanner) slash() *fault {
	rest := s.text[s.at:s.end]
	switch {
	case strings.HasPrefix(rest, "//"):
		if i := strings.IndexAny(rest, "\r\n\u2028\u2029"); i >= 0 {
			s.at += i
		} else {
			s.at = s.end
		}
	case strings.HasPrefix(rest, "/*"):
		i := strings.Index(rest[2:], "*/")
		if i < 0 {
			return faultf(s.at, CodeSyntax, "/* is not closed; add */")
		}
		s.at += i + 4
	case s.prev != operand && s.prev != closing:
		return faultf(s.at, CodeNotAllowed, "regular expressions are not permitted; use string methods such as includes, startsWith, split or replaceAll")
	default:
		s.at++
		s.prev = operator
	}
	return nil
}

func (s *scanner) quoted(quote byte) *fault {
	for i := s.at + 1; i < s.end; i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '\n', '\r':
			return faultf(s.at, CodeSyntax, "the string is not closed on its line; add %c", quote)
		case quote:
			s.at, s.prev = i+1, operand
			return nil
		}
	}
	return faultf(s.at, CodeSyntax, "the string is not closed; add %c", quote)
}

// enter opens a bracket or a template string.
func (s *scanner) enter(char byte, at int) *fault {
	if char == '{' && s.prev == arrow {
		return faultf(at, CodeNotAllowed, "the body of an arrow function must be one expression; put an object literal in parentheses: x => ({ … })")
	}
	if char == '{' && (s.prev == operand || s.prev == closing) {
		return faultf(at, CodeSyntax, "unexpected {; statements and methods are not permitted")
	}
	if len(s.open) >= s.depth {
		return faultf(at, CodeTooDeep, "must be nested at most %d deep", s.depth)
	}
	s.open = append(s.open, bracket{char: char, at: at, arrows: s.arrows, nested: s.nested})
	s.at++
	switch char {
	case '`':
		return s.templateText()
	case '{':
		s.prev = brace
	default:
		s.prev = operator
	}
	return nil
}

// leave closes a bracket.
func (s *scanner) leave(char byte) *fault {
	if len(s.open) == 0 {
		return faultf(s.at, CodeSyntax, "unexpected %c; nothing is open that it could close", char)
	}
	b := s.open[len(s.open)-1]
	if b.closer() != string(char) {
		return faultf(s.at, CodeSyntax, "unexpected %c; %s is to be closed by %s first", char, b.text(), b.closer())
	}
	s.open = s.open[:len(s.open)-1]
	s.at++
	s.nested = b.nested
	switch {
	case b.char == '$':
		return s.templateText()
	case char == ')':
		s.prev, s.closed = closing, b
	default:
		s.prev = operand
	}
	return nil
}

// templateText reads the text of a template string up to its end or the next ${.
func (s *scanner) templateText() *fault {
	start := s.open[len(s.open)-1].at
	for ; s.at < s.end; s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '`':
			s.open = s.open[:len(s.open)-1]
			s.at++
			s.prev = operand
			return nil
		case c == '$' && s.at+1 < s.end && s.text[s.at+1] == '{':
			s.prev = operator
			at := s.at
			s.at++
			return s.enter('$', at)
		}
	}
	s.at = s.end
	return faultf(start, CodeSyntax, "the template string is not closed; add `")
}

// number reads a numeric literal.
func (s *scanner) number() *fault {
	start := s.at
	word := func() {
		for s.at < s.end && (s.digitAt(s.at) || s.text[s.at] == '_' || isNameByte(s.text[s.at])) {
			s.at++
		}
	}
	if s.text[s.at] == '0' && s.digitAt(s.at+1) {
		return faultf(start, CodeNotAllowed, "a number must not begin with 0 and another digit; write 0o17 for octal, 17 for decimal")
	}
	word()
	prefixed := strings.HasPrefix(s.text[start:s.at], "0x") || strings.HasPrefix(s.text[start:s.at], "0X")
	if !prefixed && s.at < s.end && s.text[s.at] == '.' && s.text[start] != '.' {
		s.at++
		word()
	} else if s.text[start] == '.' {
		s.at++
		word()
	}
	last := s.text[s.at-1]
	if !prefixed && (last == 'e' || last == 'E') && s.at < s.end && (s.text[s.at] == '+' || s.text[s.at] == '-') {
		s.at++
		word()
	}
	s.prev = operand
	return nil
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// foreign reads what begins with a character beyond ASCII: a name or white space.
func (s *scanner) foreign() *fault {
	r, size := utf8.DecodeRuneInString(s.text[s.at:s.end])
	switch {
	case r == utf8.RuneError && size <= 1:
		return faultf(s.at, CodeSyntax, "must be valid UTF-8")
	case r == '\ufeff' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Zs, r):
		s.at += size
		return nil
	case unicode.IsLetter(r):
		return s.word()
	}
	return faultf(s.at, CodeSyntax, "unexpected %q", r)
}

// word reads a name or keyword.
func (s *scanner) word() *fault {
	start := s.at
	for s.at < s.end {
		r, size := utf8.DecodeRuneInString(s.text[s.at:s.end])
		if r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)) || r < utf8.RuneSelf && isNameByte(byte(r)) {
			s.at += size
			continue
		}
		break
	}
	word := s.text[start:s.at]
	hint, reserved := reservedWords[word]
	if reserved && s.prev != dot && !s.isKey() {
		return faultf(start, CodeNotAllowed, "%s is not permitted; %s", word, hint)
	}
	isOperator := (word == "typeof" || word == "in") && s.prev != dot && !s.isKey()
	s.prev = operand
	if isOperator {
		s.prev = operator
	}
	return nil
}

// isKey reports whether the word just read is the key of an object literal.
func (s *scanner) isKey() bool {
	if len(s.open) == 0 || s.open[len(s.open)-1].char != '{' || s.prev != brace && s.prev != comma {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(s.text[s.at:s.end], " \t\r\n"), ":")
}

// punctuation reads an operator.
func (s *scanner) punctuation(c byte) *fault {
	rest := s.text[s.at:s.end]
	switch {
	case strings.HasPrefix(rest, "=>"):
		if s.prev == closing && s.closed.arrows != s.arrows {
			return faultf(s.closed.at, CodeNotAllowed, "the parameters of an arrow function must not hold another arrow function")
		}
		s.arrows++
		if s.nested++; s.nested > s.maxArrows() {
			return faultf(s.at, CodeTooDeep, "must hold at most %d arrow functions within one another", s.maxArrows())
		}
		s.at += 2
		s.prev = arrow
	case strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--"):
		return faultf(s.at, CodeNotAllowed, "%s is not permitted: an expression changes nothing; write x + 1 or x - 1, with spaces between two signs", rest[:2])
	case strings.HasPrefix(rest, "..."):
		s.at += 3
		s.prev = operator
	case strings.HasPrefix(rest, "?.") && !s.digitAt(s.at+2):
		s.at += 2
		s.prev = dot
	case c == '.':
		s.at++
		s.prev = dot
	case c == ',':
		s.at++
		s.prev, s.nested = comma, 0
		if n := len(s.open); n > 0 {
			s.nested = s.open[n-1].nested
		}
	default:
		s.at++
		s.prev = operator
	}
	return nil
}
