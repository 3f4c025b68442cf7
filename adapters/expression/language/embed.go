package language

import (
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Embedding compiles the expressions that stand within a text, such as a template, as one
// program.
type Embedding struct {
	compiler *compiler
	types    *inference // nil where types are not asked for
}

// Embedded is one expression within a text.
type Embedded struct {
	Eval  Eval
	At    int    // the byte of the text at which it begins
	Calls string // the built-in function that the whole expression is a call of; empty for none
	Type  typing.Type
}

// Embed begins with a text. The limits on the source hold for all of it.
func (l Limits) Embed(text string, roots ...string) *Embedding {
	return &Embedding{compiler: l.compiler(text, roots)}
}

// EmbedTyped begins with a text whose expressions have types.
func (l Limits) EmbedTyped(text string, roots []workflow.Root, facts []typing.Fact) *Embedding {
	c := l.compiler(text, names(roots))
	return &Embedding{c, newInference(c, roots, facts)}
}

// Analysis is what is known of the text, which compiles, and gives a value of the type.
func (e *Embedding) Analysis(t typing.Type) Analysis { return e.types.analysis(Analysis{Type: t}) }

// Compile reads the expression that begins at a byte and ends before the next }} outside its
// brackets and strings; end is where that stands. ok is false where nothing more can be
// read; [Embedding.Program] says why.
func (e *Embedding) Compile(from int) (x Embedded, end int, ok bool) {
	c := e.compiler
	f := c.checkLength()
	if f == nil {
		end, f = scan(c.text, from, len(c.text), c.limits.Depth, true)
	}
	if f != nil {
		c.faults = append(c.faults, f)
		return Embedded{}, 0, false
	}
	x.At = from
	if tree := c.tree(from, end); tree != nil {
		x.Eval, x.Calls = c.expr(tree), c.calledFunction(tree)
		if e.types != nil && len(c.faults) == 0 {
			x.Type = e.types.expr(tree)
		}
	}
	return x, end, true
}

// EmbeddedAt finds the expression between {{ and }} in which a byte of a text stands. One that is
// not closed, or is not right, goes to the next }} or the end.
func (l Limits) EmbeddedAt(text string, at int) (from, end int, inside bool) {
	depth := l.WithDefaults().Depth
	for {
		open := strings.Index(text[end:], "{{")
		if open < 0 || end+open+2 > at {
			return 0, 0, false
		}
		from = end + open + 2
		var f *fault
		if end, f = scan(text, from, len(text), depth, true); f != nil {
			end = len(text)
			if closed := strings.Index(text[from:], "}}"); closed >= 0 {
				end = from + closed
			}
		}
		if at <= end {
			return from, end, true
		}
		end += min(2, len(text)-end)
	}
}

// calledFunction is the built-in function that an expression is a call of, empty for none.
func (c *compiler) calledFunction(n ast.Expression) string {
	if call, isCall := n.(*ast.CallExpression); isCall {
		if callee, isName := call.Callee.(*ast.Identifier); isName && c.builtIn(callee.Name.String()) {
			return callee.Name.String()
		}
	}
	return ""
}

// Program computes with the expressions that were compiled. The error is a
// *[CompileError] that lists all that is wrong with them.
func (e *Embedding) Program(eval Eval) (*Program, error) { return e.compiler.program(eval) }

// Refuse is the error of a text that is wrong for another reason than its expressions.
func Refuse(text string, at int, code, message string) *CompileError {
	return compileError(text, faultf(at, code, "%s", message))
}

// Join makes one program that computes with others, which share its budget.
func (l Limits) Join(eval Eval, programs ...*Program) *Program {
	joined := &Program{limits: l.WithDefaults(), run: func(m *Machine) any {
		v := eval(m)
		m.path = ""
		return v
	}}
	for _, p := range programs {
		joined.slots, joined.nodes = max(joined.slots, p.slots), joined.nodes.with(p.nodes)
	}
	return joined
}

// At evaluates the program as a part of another one. The path says in messages where it
// stands.
func (p *Program) At(path string) Eval {
	return func(m *Machine) any {
		m.source, m.path = p.text, path
		return p.run(m)
	}
}

// Constant gives a value of the environment's kind.
func Constant(v any) Eval { return constant(v) }

// List gives an array of what each part gives.
func List(parts []Eval) Eval {
	return func(m *Machine) any {
		m.spend(1+len(parts)>>3, 40+16*len(parts))
		made := make([]any, len(parts))
		for i, part := range parts {
			made[i] = part(m)
		}
		return &array{elems: made}
	}
}

// Object gives an object whose members are what each part gives. There is a name for each.
func Object(names []string, parts []Eval) Eval {
	return func(m *Machine) any {
		m.spend(1+max(0, len(parts)-maxScannedKeys), 64)
		made := &object{}
		made.grow(len(parts))
		for i, part := range parts {
			m.work(len(names[i]))
			m.set(made, names[i], part(m))
		}
		return made
	}
}

// Step counts one operation.
func (m *Machine) Step() { m.step() }

// Work counts reading n bytes of text.
func (m *Machine) Work(n int) { m.work(n) }

// Alloc counts n bytes, before they are allocated.
func (m *Machine) Alloc(n int) { m.alloc(n) }

// MoveTo notes the byte of the text that is evaluated, for errors.
func (m *Machine) MoveTo(at int) { m.at = at }

// Fail ends the evaluation with an [EvaluationError].
func (m *Machine) Fail(code, message string) { panic(m.fault(code, "%s", message)) }

// Text writes a value that an [Eval] gave: null, undefined, booleans, numbers and strings
// as JavaScript's String does, objects and arrays as JSON.
func (m *Machine) Text(v any) string {
	if isObject(v) {
		return m.toJSON(v)
	}
	return m.text(v)
}

// EncodeURIComponent is the function of that name.
func (m *Machine) EncodeURIComponent(text string) string {
	return m.encodeURI(text, componentMarks)
}

// NewTextBuilder begins with an empty text.
func NewTextBuilder(m *Machine) TextBuilder { return TextBuilder{m: m} }
