package node

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// A match takes time in proportion to the text's length times the size of the
// pattern's program, so both are bounded.
const (
	maxPattern      = 1000    // characters of a pattern
	maxProgram      = 5_000   // instructions of one pattern
	maxPrograms     = 50_000  // instructions of all patterns of one schema
	matchBudget     = 1 << 24 // bytes × instructions in one check of a value
	unlimitedRepeat = -1
)

// PatternSize is how large the programs of all patterns in the schema are together.
// Checking a value takes at most that many operations for each of its characters.
func (s Schema) PatternSize() (size int) {
	for _, field := range s.All() {
		size += field.patternSize()
	}
	return size
}

func (f FieldSchema) patternSize() (size int) {
	if f.s == nil {
		return 0
	}
	if f.s.pattern != nil {
		size = f.s.pattern.size
	}
	return size + f.s.properties.PatternSize() + f.s.items.patternSize()
}

// MaxMatch is how many operations matching the patterns of a schema takes at the most when a
// value is checked.
const MaxMatch = matchBudget

// pattern compiles a pattern; nil when there is none or it is refused.
func (p *parser) pattern(path string, text *string) *pattern {
	if text == nil {
		return nil
	}
	at := domain.Member(path, "pattern")
	p.found.text(*text, at, 0, maxPattern)
	if len(*text) > maxPattern*utf8.UTFMax || p.program > maxPrograms {
		return nil
	}
	tree, err := syntax.Parse(*text, syntax.Perl)
	if err != nil {
		p.program += len(*text)
		p.found.check(false, at, domain.BadFormat,
			"must be an RE2 regular expression (without look-around and back-references): %v", err)
		return nil
	}
	size := programSize(tree)
	p.program += size
	p.found.check(size <= maxProgram, at, domain.TooLong,
		"must not repeat so much: use minLength and maxLength to bound the length")
	p.found.check(p.program <= maxPrograms, p.base, domain.TooLong, "must have fewer or simpler patterns")
	if size > maxProgram || p.program > maxPrograms {
		return nil
	}
	matcher, err := regexp.Compile(*text)
	if err != nil {
		p.found.check(false, at, domain.BadFormat, "must be an RE2 regular expression: %v", err)
		return nil
	}
	return &pattern{text: *text, matcher: matcher, size: size}
}

// programSize bounds from above how many instructions a parsed pattern compiles
// to, before any memory is spent on them. It never exceeds maxProgram + 1.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpConcat:
	case syntax.OpAlternate:
		size += len(re.Sub) - 1
	case syntax.OpCapture, syntax.OpStar:
		size += 2
	case syntax.OpCharClass: // a large class costs memory and time to build
		size = 1 + len(re.Rune)/128
	case syntax.OpRepeat:
		copies, optional := re.Max, re.Max-re.Min
		if re.Max == unlimitedRepeat {
			copies, optional = max(re.Min, 1), 2
		}
		size = max(size*copies+optional, 1)
	default: // one character, an assertion, or x+ and x?
		size++
	}
	return min(size, maxProgram+1)
}
