package workflow

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/typing"
)

// Expressions reads what nodes and edges compute with. It runs nothing.
type Expressions interface {
	// Check tells whether a source uses no free name but the roots and what the language
	// itself defines, and what is known of it then.
	Check(s Source) Checked

	// Complete finds what could stand at a byte of the text of a source, which somebody is
	// writing: it need not compile.
	Complete(s Source, at int) Offers
}

// Form says how a text is read.
type Form uint8

// The forms of texts.
const (
	Expression  Form = iota // one expression
	EachItem                // an expression over [Source.Each], or an arrow function of them
	Template                // expressions stand between {{ and }}; a {{ without its }} is an error
	URLTemplate             // a template that gives a URL: no value may change what is written out of the scheme, the host and the port, as in https://api.example.com{{ input.path }}
)

// Source is a text with what is known where it stands.
type Source struct {
	Text  string
	Form  Form
	Roots []Root
	Each  []Root        // of [EachItem]: roots of the expression, parameters of the function
	Facts []typing.Fact // about what the roots lead to
	Seen  typing.Type   // of the value whose members are offered, as it was last seen; any for nothing
}

// Root is a name that an expression begins with.
type Root struct {
	Name string
	Type typing.Type
	Path string // what it stands for, which facts are about; empty for itself
}

// Checked is what is known of a source.
type Checked struct {
	Problem    string // why it does not compile, and where; empty where it does, and all below is of such a one
	At         Place  // of the problem
	IsFunction bool
	Named      []Named
	Uses       map[string]int // how often each root is read, in any way
	Type       typing.Type    // of what it gives
	Constant   bool           // it is a constant that is written out
	Doubts     []Doubt
	WhenTrue   []typing.Fact // what is known where it came out true
	WhenFalse  []typing.Fact
}

// Doubt is something wrong with a source that compiles.
type Doubt struct {
	At      Place
	Code    domain.ViolationCode
	Message string
	Warning bool // it may go well
}

// Place is where in a text something stands; both count from 1, columns in Unicode code
// points. The zero value is nowhere.
type Place struct{ Line, Column int }

// String renders the place for people: "line 1, column 7".
func (p Place) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// placeIn is the place of a byte of a text.
func placeIn(text string, at int) Place {
	before := text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return Place{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1}
}

// rootsOf are roots of which nothing is known.
func rootsOf(names []string) []Root {
	roots := make([]Root, len(names))
	for i, name := range names {
		roots[i].Name = name
	}
	return roots
}
