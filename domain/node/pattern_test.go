package node

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestTheEstimateOfAProgramIsNoSmallerThanTheProgram(t *testing.T) {
	for _, text := range []string{
		``, `a`, `^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$`, `(foo|bar|bazzz)*?`, `\pL{3,200}`, `(?i)straße`, `(a{10}){20}`,
		`x{0,1000}`, `(?:ab?){300}`, `((a*)*)*`, `[^\x00-\x{10FFFF}]`, `\b\w+\b(?s:.)$`, `a{0}`, `(((a|b)|c)|d)|e`,
	} {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		estimate := programSize(tree)
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		// Every program begins with a failure and ends with a match.
		size := len(program.Inst) - 2
		if estimate < size {
			t.Errorf("%s: estimated %d instructions, compiled to %d", text, estimate, size)
		}
		if wide := strings.Contains(text, `\p`); !wide && estimate > 2*size+16 {
			t.Errorf("%s: estimated as many as %d instructions, compiled to %d", text, estimate, size)
		}
	}
}
