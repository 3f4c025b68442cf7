package language

const (
	useConditional = "write condition ? a : b"
	useArray       = "use map, filter or reduce"
	oneExpression  = "write one expression, without statements"
	changesNothing = "an expression changes nothing"
	noWaiting      = "an expression does not wait"
)

// absentNames are names of JavaScript that the language does not have, each with what is
// right instead.
var absentNames = map[string]string{
	"Date":   "the time is now(), in milliseconds since 1970; times of one zone that are written alike, as 2026-01-31T09:00:00Z is, compare as texts",
	"RegExp": noPatterns,
	"Map":    "use an object, or Object.fromEntries and Object.entries",
	"Set":    "use an array: input.list.filter((x, i, all) => all.indexOf(x) === i)",
	"BigInt": "a number is exact up to 2 ** 53; keep longer ones as texts",
}

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
