package language

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// maxProblems is how many problems of one source are reported.
const maxProblems = 20

// compiler turns the syntax tree of one expression into closures. What it meets
// and does not know is a problem: the language is a list of what is permitted.
type compiler struct {
	roots   []string
	limits  Limits
	text    string // the whole text
	shift   int    // from a position of the parser to a byte of the text
	scopes  []map[string]int
	slots   int // how many parameters there are
	binders int // how many names and patterns their values are given to
	depth   int
	faults  []*fault
	tooDeep bool
	members []Member
	uses    map[string]int // how often each root is read, in any way
}

func (l Limits) compiler(text string, roots []string) *compiler {
	return &compiler{roots: roots, limits: l.WithDefaults(), text: text, uses: map[string]int{}}
}

// compile reads text[from:end] as one expression.
func (c *compiler) compile(from, end int) Eval {
	tree := c.tree(from, end)
	if tree == nil {
		return nil
	}
	return c.expr(tree)
}

// tree reads text[from:end] as the syntax tree of one expression, nil where it is none.
func (c *compiler) tree(from, end int) ast.Expression {
	if strings.TrimSpace(c.text[from:end]) == "" {
		c.faults = append(c.faults, faultf(from, CodeSyntax, "must be an expression, such as input.amount > 100, not empty"))
		return nil
	}
	tree, f := c.parse(from, end)
	if f != nil {
		c.faults = append(c.faults, f)
		return nil
	}
	return tree
}

// parse has goja parse the expression in parentheses of ours: so { begins an
// object and the first character is where an operand is due. [scan] has seen that
// the brackets match, so they cannot close ours.
func (c *compiler) parse(from, end int) (tree ast.Expression, f *fault) {
	defer func() {
		if thrown := recover(); thrown != nil {
			tree, f = nil, faultf(from, CodeSyntax, "must be one JavaScript expression")
		}
	}()
	c.shift = from - 2 // the parser counts from 1, and ours is the first parenthesis
	program, err := parser.ParseFile(nil, "", "("+c.text[from:end]+"\n)", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, c.syntaxFault(from, end, err)
	}
	if len(program.Body) == 1 {
		if statement, ok := program.Body[0].(*ast.ExpressionStatement); ok {
			return statement.Expression, nil
		}
	}
	return nil, faultf(from, CodeSyntax, "must be one JavaScript expression")
}

// syntaxFault places the first error of the parser in the text.
func (c *compiler) syntaxFault(from, end int, err error) *fault {
	list, ok := errors.AsType[parser.ErrorList](err)
	if !ok || len(list) == 0 {
		return faultf(from, CodeSyntax, "must be one JavaScript expression")
	}
	at := min(max(from-1+byteAt(" "+c.text[from:end], list[0].Position), from), end)
	message := list[0].Message
	if message == "Unexpected token )" && at >= end {
		message = "unexpected end; the expression is not complete"
	} else if len(message) > 1 {
		message = strings.ToLower(message[:1]) + message[1:]
	}
	return &fault{at: at, code: CodeSyntax, message: "must be one JavaScript expression: " + message}
}

// byteAt finds the byte that the parser reports as line and column.
func byteAt(s string, at file.Position) int {
	start := 0
	for line := 1; line < at.Line; line++ {
		i := strings.IndexAny(s[start:], "\r\n\u2028\u2029")
		if i < 0 {
			return len(s)
		}
		r, size := utf8.DecodeRuneInString(s[start+i:])
		if start += i + size; r == '\r' && strings.HasPrefix(s[start:], "\n") {
			start++
		}
	}
	return start + at.Column - 1
}

// offset is the byte of the text at a position of the parser.
func (c *compiler) offset(at file.Idx) int { return int(at) + c.shift }

// reject notes a problem; what stands for the expression is never evaluated.
func (c *compiler) reject(at file.Idx, code, format string, args ...any) Eval {
	if len(c.faults) < maxProblems {
		c.faults = append(c.faults, &fault{at: c.offset(at), code: code, message: fmt.Sprintf(format, args...)})
	}
	return constant(undefined)
}

// source is the text of an expression, shortened, for messages.
func (c *compiler) source(n ast.Expression) string {
	from, to := c.offset(n.Idx0()), c.offset(n.Idx1())
	if from < 0 || to > len(c.text) || from >= to {
		return "this"
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(c.text[from:to], "\ufffd")), " ")
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:59]) + "…"
	}
	return s
}

func constant(v any) Eval {
	return func(*Machine) any { return v }
}

// expr compiles any expression.
func (c *compiler) expr(n ast.Expression) Eval {
	if c.depth >= c.limits.Depth {
		if !c.tooDeep {
			c.tooDeep = true
			c.reject(n.Idx0(), CodeTooDeep, "must be nested at most %d deep", c.limits.Depth)
		}
		return constant(undefined)
	}
	c.depth++
	defer func() { c.depth-- }()
	switch n := n.(type) {
	case *ast.NullLiteral:
		return constant(nil)
	case *ast.BooleanLiteral:
		return constant(n.Value)
	case *ast.StringLiteral:
		return constant(fromParser(n.Value))
	case *ast.NumberLiteral:
		return c.numberLiteral(n)
	case *ast.TemplateLiteral:
		return c.templateString(n)
	case *ast.ArrayLiteral:
		return c.arrayLiteral(n)
	case *ast.ObjectLiteral:
		return c.objectLiteral(n)
	case *ast.Identifier:
		return c.identifier(n)
	case *ast.DotExpression, *ast.BracketExpression, *ast.OptionalChain, *ast.Optional, *ast.CallExpression:
		return c.access(n)
	case *ast.UnaryExpression:
		return c.unary(n)
	case *ast.BinaryExpression:
		return c.binary(n)
	case *ast.ConditionalExpression:
		return c.conditional(n)
	}
	return c.rejectNode(n)
}

// rejectNode says what is right instead of a node that is not permitted.
func (c *compiler) rejectNode(n ast.Expression) Eval {
	switch n := n.(type) {
	case *ast.ArrowFunctionLiteral:
		return c.reject(n.Idx0(), CodeNotAllowed, "a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a)")
	case *ast.AssignExpression:
		return c.reject(n.Idx0(), CodeNotAllowed, "an assignment is not permitted; compare with ===")
	case *ast.SequenceExpression:
		return c.reject(n.Idx0(), CodeNotAllowed, "must be one expression, not several with commas between them; put them in [ ] for an array")
	case *ast.RegExpLiteral:
		return c.reject(n.Idx0(), CodeNotAllowed, "regular expressions are not permitted; use string methods such as includes")
	case *ast.BadExpression:
		return c.reject(n.Idx0(), CodeSyntax, "must be one JavaScript expression")
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")
	return c.reject(n.Idx0(), CodeNotAllowed, "%s is not part of the expression language", kind)
}

// conditional compiles a ? b : c.
func (c *compiler) conditional(n *ast.ConditionalExpression) Eval {
	test, yes, no := c.expr(n.Test), c.expr(n.Consequent), c.expr(n.Alternate)
	return func(m *Machine) any {
		if m.step(); truthy(test(m)) {
			return yes(m)
		}
		return no(m)
	}
}

// identifier compiles a name: a parameter, a root or a built-in constant.
func (c *compiler) identifier(n *ast.Identifier) Eval {
	name := n.Name.String()
	if slot, ok := c.slot(name); ok {
		return func(m *Machine) any { return m.slots[slot] }
	}
	if slices.Contains(c.roots, name) {
		c.uses[name]++
		return func(m *Machine) any {
			v, ok := m.values[name]
			if !ok {
				return undefined
			}
			return m.read(v)
		}
	}
	if v, ok := constants[name]; ok {
		return constant(v)
	}
	if _, ok := functions[name]; ok {
		return c.reject(n.Idx, CodeNotAllowed, "%s is a function and no value; call it, or give it to a method such as map", name)
	}
	if _, ok := namespaces[name]; ok {
		return c.reject(n.Idx, CodeNotAllowed, "%s is no value; use a member such as %s", name, exampleOf(name))
	}
	if hint, ok := absentNames[name]; ok {
		return c.reject(n.Idx, CodeUnknownName, "%s is not known; %s", name, hint)
	}
	return c.reject(n.Idx, CodeUnknownName, "%s is not known; an expression begins with %s", name, c.known())
}

// known lists the names that an expression may begin with.
func (c *compiler) known() string {
	names := slices.Clone(c.roots)
	names = append(names, sortedNames(constants)...)
	for _, name := range sortedNames(functions) {
		names = append(names, name+"()")
	}
	for _, name := range sortedNames(namespaces) {
		names = append(names, name+".…")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// slot finds a parameter, the innermost first.
func (c *compiler) slot(name string) (int, bool) {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if slot, ok := c.scopes[i][name]; ok {
			return slot, true
		}
	}
	return 0, false
}

// builtIn reports whether a name means what is built in, hidden by nothing.
func (c *compiler) builtIn(name string) bool {
	_, hidden := c.slot(name)
	return !hidden && !slices.Contains(c.roots, name)
}

// isNoValue reports whether a name stands for no value, so that there is nothing to call a
// method of.
func (c *compiler) isNoValue(name string) bool {
	_, isConstant := constants[name]
	return c.builtIn(name) && !isConstant
}

// fromParser takes over a string of the parser, which may hold lone surrogates.
func fromParser(s unistring.String) string {
	if units := s.AsUtf16(); units != nil {
		m := Machine{memory: 4 * len(units)}
		return m.fromUnits(units[1:])
	}
	return string(s)
}
