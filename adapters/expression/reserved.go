package expression

const (
	useConditional = "write condition ? a : b"
	useArray       = "use map, filter or reduce"
	oneExpression  = "write one expression, without statements"
	changesNothing = "an expression changes nothing"
	noWaiting      = "an expression does not wait"
)

// reservedWords are the words of JavaScript that have no place in an expression,
// each with what is right instead. As a member's name or a key all are permitted.
var reservedWords = map[string]string{
	"if": useConditional, "else": useConditional, "switch": useConditional, "case": useConditional, "default": useConditional,
	"for": useArray, "while": useArray, "do": useArray, "break": useArray, "continue": useArray,
	"return": "an arrow function gives its body: x => x.id", "throw": oneExpression,
	"try": oneExpression, "catch": oneExpression, "finally": oneExpression, "with": oneExpression, "debugger": oneExpression,
	"var":        "name a value with a function: (x => x + x)(input.a)",
	"let":        "name a value with a function: (x => x + x)(input.a)",
	"const":      "name a value with a function: (x => x + x)(input.a)",
	"function":   "write an arrow function: x => x.id",
	"class":      "write an object literal: { a: 1 }",
	"extends":    "write an object literal: { a: 1 }",
	"enum":       "write an object literal: { a: 1 }",
	"new":        "write a literal such as [], {} or 0; the time is now(), in milliseconds",
	"this":       "begin with a root such as input",
	"super":      "begin with a root such as input",
	"arguments":  "name the parameters: (a, b) => a + b",
	"eval":       oneExpression,
	"instanceof": "use typeof or Array.isArray",
	"delete":     changesNothing + "; leave a member out with (({ a, ...rest }) => rest)(input)",
	"void":       "write undefined",
	"await":      noWaiting, "async": noWaiting, "yield": noWaiting,
	"import": "everything there is is built in", "export": oneExpression,
}
