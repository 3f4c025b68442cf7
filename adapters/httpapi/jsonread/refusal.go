package jsonread

import (
	"fmt"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// maxFindings bounds how many violations of one body are reported. A body may hold a
// mistake in each of a hundred thousand members.
const maxFindings = 50

// findings are what makes a text unacceptable.
type findings struct {
	rules domain.Rules
	first string // where and what the first finding is, or the syntax error
}

// broken records a syntax error at the position. It returns false, which ends the
// reading.
func (p *parser) broken(format string, args ...any) bool {
	what := fmt.Sprintf(format, args...)
	path := p.currentPath()
	p.found.first = p.located(p.pos, what)
	if path != "" {
		p.found.rules.Add(domain.Violation{Field: path, Code: domain.BadFormat, Message: "is not valid JSON: " + what})
	}
	return false
}

// refuse records that the current member or element is well-formed and not
// acceptable.
func (p *parser) refuse(pos int, code domain.ViolationCode, what string) {
	path := p.currentPath()
	subject := path
	if subject == "" {
		subject = "the body"
	}
	if p.found.first == "" {
		p.found.first = p.located(pos, subject+" "+what)
	}
	if len(p.found.rules.Violations()) < maxFindings {
		p.found.rules.Add(domain.Violation{Field: path, Code: code, Message: what})
	}
}

func (p *parser) flawed(f flaw, pos int) {
	switch f {
	case holdsNUL:
		p.refuse(pos, domain.BadText, "must not contain the character U+0000")
	case halfSurrogate:
		p.refuse(pos, domain.BadText, `must not contain one half of a surrogate pair, such as \ud800 alone`)
	case notUTF8:
		p.refuse(pos, domain.BadText, "must be valid UTF-8")
	case sound:
	}
}

func (p *parser) located(pos int, what string) string {
	line, column := position(p.text[:pos])
	return fmt.Sprintf("line %d, column %d: %s", line, column, what)
}

// position returns the line and the column, in characters and from 1, that follow
// the text.
func position(before string) (line, column int) {
	line, from := 1, 0
	for i := range len(before) {
		if before[i] == '\n' {
			line, from = line+1, i+1
		}
	}
	return line, utf8.RuneCountInString(before[from:]) + 1
}

// currentPath is the path of the value that is being read.
func (p *parser) currentPath() string {
	path := ""
	for _, f := range p.frames[:p.depth] {
		switch {
		case f.of == array:
			path = domain.Index(path, f.index)
		case f.name != 0:
			path = domain.Member(path, legible(p.str(f.name)))
		}
	}
	return path
}

// refusal is the error for everything found; nil when nothing was.
func (p *parser) refusal() error {
	if p.found.first == "" {
		return nil
	}
	e := domain.Fail(domain.Invalid, "malformed_json", "The request body is not acceptable JSON: %s.", p.found.first)
	e.Violations = p.found.rules.Violations()
	return e
}
