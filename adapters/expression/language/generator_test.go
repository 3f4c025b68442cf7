package language

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// generator composes expressions of the language whose values must be those of
// JavaScript. It leaves out the differences that the package comment lists.
type generator struct {
	t      *rapid.T
	params int // how many parameters p0, p1… are in scope
}

func (g *generator) pick(options ...string) string {
	return rapid.SampledFrom(options).Draw(g.t, "pick")
}

func (g *generator) one(n int) int { return rapid.IntRange(0, n-1).Draw(g.t, "one") }

// any composes an expression of any type.
func (g *generator) any(depth int) string {
	switch g.one(7) {
	case 0, 1:
		return g.number(depth)
	case 2, 3:
		return g.text(depth)
	case 4:
		return g.boolean(depth)
	case 5:
		return g.list(depth)
	}
	return g.object(depth)
}

// leaf is a constant, a parameter or something of the environment.
func (g *generator) leaf() string {
	if g.params > 0 && g.one(2) == 0 {
		return fmt.Sprintf("p%d", g.one(g.params))
	}
	return g.pick("null", "undefined", "NaN", "Infinity", "0", "-0", "1", "true", "false", `""`, `"5"`, `"abc"`,
		"input.amount", "input.name", "input.wide", "input.nothing", "input.missing", "input.list", "input.mixed", "input.items", "input.object", "input.none",
		"payload.kind", "payload?.id", "nodes.fetch.body.id", "nodes.gone?.body.id", `input["object"][9]`, "now()", "run")
}

// often composes by f, now and then something of another type.
func (g *generator) often(f func(int) string, depth int) string {
	if depth <= 0 {
		return g.leaf()
	}
	if g.one(8) == 0 {
		return g.any(depth - 1)
	}
	return f(depth - 1)
}

func (g *generator) number(depth int) string {
	if depth <= 0 {
		return g.pick("0", "-0", "1", "2", "-3", "7", "0.1", "0.5", "2.5", "-1.5", "1e21", "1e-7", "123456789012345680", "4294967296", "2147483648", "0x1f",
			"NaN", "Infinity", "5e-324", "1.7976931348623157e308", "input.amount", "input.count", "input.zero", "input.list.length", "1_000", `(+" 0x1F ")`)
	}
	n := func() string { return g.often(g.number, depth) }
	switch g.one(14) {
	case 0, 1, 2:
		return "(" + g.pick("", "0 + ") + n() + " " + g.pick("+", "-", "/", "%") + " " + n() + ")"
	case 3:
		return "((" + n() + ") ** " + g.pick("2", "3", "0.5", "-1", "0", "NaN", "Infinity") + ")"
	case 4:
		return g.pick("(0 + "+n()+" * "+n()+")", "(-("+n()+"))", "(+("+n()+"))")
	case 5:
		return "Math." + g.pick("abs", "ceil", "floor", "round", "trunc", "sign", "sqrt", "cbrt", "sin", "atan", "log1p", "expm1", "tanh", "asinh", "fround") + "(" + n() + ")"
	case 6:
		return "Math." + g.pick("max", "min", "pow", "hypot", "atan2") + "(" + n() + ", " + n() + ")"
	case 7:
		return g.pick("Number(", "parseFloat(", "Number.parseFloat(") + g.any(depth-1) + ")"
	case 8:
		// the oracle itself is wrong about more digits than a number holds
		return "(0 + parseInt(String(" + g.often(g.text, depth) + ").slice(0, 10), " + g.pick("undefined", "2", "10", "16", "36", "1", "37") + "))"
	case 9:
		return "(" + g.often(g.text, depth) + ")." + g.pick("length", `indexOf("a")`, `lastIndexOf("a")`, "charCodeAt(1)", "codePointAt(0)", `indexOf("", 2)`, `lastIndexOf("", 1)`, `lastIndexOf("x", -1)`)
	case 10:
		return "(" + g.often(g.list, depth) + ")." + g.pick("length", "indexOf(1)", "lastIndexOf(1)", "indexOf(NaN)", "indexOf(2, -2)", "lastIndexOf(2, -3)")
	case 11:
		return "(" + g.often(g.list, depth) + ")." + g.pick("findIndex", "findLastIndex") + "(" + g.arrow(depth, 2) + ")"
	case 12: // the oracle itself is wrong about the bits of numbers beyond 2^63
		small := func() string { return "(n => Math.abs(n) < 1e18 ? n : NaN)(" + n() + ")" }
		return g.pick("~"+small(), "("+small()+" "+g.pick("&", "|", "^", "<<", ">>", ">>>")+" "+small()+")")
	}
	return "(" + g.often(g.list, depth) + ")." + g.pick("reduce", "reduceRight") + "(" + g.arrow(depth, 3) + g.pick("", ", "+g.leaf()) + ")"
}

func (g *generator) text(depth int) string {
	if depth <= 0 {
		return g.pick(`""`, `"a"`, `"abc"`, `'it\'s'`, `"12"`, `" 3.5 "`, `"1e3"`, `"-"`, `"\u00e9\u00df"`, `"\ud83d"`, `"\ude00"`, `"😀"`, `"a,b,,c"`, "input.name", "input.wide", "input.digits", "payload.kind", "`t`")
	}
	s := func() string { return g.often(g.text, depth) }
	i := func() string {
		return g.pick("0", "1", "-1", "2", "undefined", "NaN", "1.7", "-9", "99", "Infinity", "-Infinity")
	}
	switch g.one(12) {
	case 0, 1:
		return "(" + s() + " + " + g.any(depth-1) + ")"
	case 2:
		return "`a${" + g.any(depth-1) + "}\\n${" + s() + "}`"
	case 3:
		return "(" + s() + ")." + g.pick("toUpperCase", "toLowerCase", "trim", "trimStart", "trimEnd", "toString") + "()"
	case 4:
		return "(" + s() + ")." + g.pick("slice", "substring") + "(" + i() + ", " + i() + ")"
	case 5:
		return "(" + s() + ")." + g.pick("at", "charAt") + "(" + i() + ")"
	case 6:
		return "(" + s() + ")." + g.pick("padStart", "padEnd") + "(" + g.pick("0", "5", "8", "NaN") + g.pick(`)`, `, "ab")`, `, "")`, `, "é😀")`)
	case 7:
		return "(" + s() + ")." + g.pick("replace", "replaceAll") + "(" + g.pick(`"a"`, `"b"`, `"é"`, "1", "undefined") + ", " + g.pick(`"-"`, `"[$&]"`, "\"$`|$'\"", `"$$"`, `"$1$"`, "null") + ")"
	case 8:
		return "(" + s() + ")." + g.pick("repeat(3)", "repeat(0)", "repeat(-1)", "concat(1, null)", "repeat(1.9)")
	case 9:
		return g.pick("String(", "JSON.stringify(", "typeof (", "encodeURIComponent(", "encodeURI(") + g.any(depth-1) + ")"
	case 10:
		return "(" + g.often(g.number, depth) + ")." + g.pick("toFixed(2)", "toFixed()", "toFixed(0)", "toString()", "toFixed(101)", "toString(10)")
	}
	return "(" + g.often(g.list, depth) + ").join(" + g.pick("", `"-"`, "undefined", "null", `""`) + ")"
}

func (g *generator) boolean(depth int) string {
	if depth <= 0 {
		return g.pick("true", "false", "input.yes", "input.no")
	}
	a := func() string { return g.any(depth - 1) }
	switch g.one(9) {
	case 0:
		return g.pick("("+a()+" "+g.pick("===", "!==")+" "+a()+")", "("+g.loose()+" "+g.pick("==", "!=")+" "+g.loose()+")")
	case 1: // no comparison of a comparison: those are refused
		return "([" + a() + "][0] " + g.pick("<", "<=", ">", ">=") + " [" + a() + "][0])"
	case 2:
		return "(!" + "(" + a() + "))"
	case 3:
		return "((" + a() + ") " + g.pick("&&", "||", "??") + " (" + a() + "))"
	case 4:
		return "(" + a() + " ? " + a() + " : " + a() + ")"
	case 5:
		return "(" + g.often(g.text, depth) + ")." + g.pick("includes", "startsWith", "endsWith") + "(" + g.plainText() + g.pick("", ", 1", ", -1", ", 2") + ")"
	case 6:
		return "(" + g.often(g.list, depth) + ")." + g.pick("some", "every") + "(" + g.arrow(depth, 2) + ")"
	case 7:
		return "(" + g.pick(`"a"`, `"0"`, "0", `"length"`, `"id"`, "9") + " in " + "[" + g.pick(g.object(depth-1), g.list(depth-1)) + "][0])"
	}
	return g.pick("Array.isArray", "isNaN", "isFinite", "Number.isInteger", "Number.isNaN", "Number.isSafeInteger", "Number.isFinite", "Boolean") + "(" + a() + ")"
}

// loose is an operand of == and !=.
func (g *generator) loose() string { return g.pick(g.leaf(), g.list(0), g.object(0)) }

// plainText is a text without halves of surrogate pairs.
func (g *generator) plainText() string {
	return g.pick(`""`, `"a"`, `"b"`, `"é"`, `"😀"`, "1", "undefined")
}

func (g *generator) list(depth int) string {
	if depth <= 0 {
		return g.pick("[]", "[1, 2, 3]", `["b", "a", "c"]`, "[[1, [2]], 3]", "[undefined, null, NaN, -0]", "input.list", "input.mixed", "input.items", "input.none")
	}
	l := func() string { return g.often(g.list, depth) }
	i := func() string { return g.pick("0", "1", "-1", "2", "undefined", "NaN", "99") }
	switch g.one(12) {
	case 0, 1:
		return "[" + g.any(depth-1) + ", ..." + g.pick(l(), g.text(depth-1)) + ", " + g.any(depth-1) + "]"
	case 2, 3:
		return "(" + l() + ")." + g.pick("map", "filter", "flatMap") + "(" + g.arrow(depth, 3) + ")"
	case 4:
		return "(" + l() + ").map(" + g.pick("Number", "String", "Boolean", "parseFloat", "Math.abs", "isNaN", "Number.isInteger") + ")"
	case 5:
		return "(" + l() + ").slice(" + i() + ", " + i() + ")"
	case 6:
		return "(" + l() + ").slice()." + g.pick("sort()", "reverse()", "toSorted()", "toReversed()", "map(Number).filter(x => x === x).sort((a, b) => b - a || 0)", "map(String).toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0)")
	case 7:
		return "(" + l() + ").concat(" + g.any(depth-1) + ", " + l() + ")"
	case 8:
		return "(" + l() + ").flat(" + g.pick("", "0", "1", "2", "Infinity") + ")"
	case 9:
		return "(" + g.often(g.text, depth) + ").split(" + g.pick("", `""`, `","`, `"a"`, `"b", 1`, "undefined, 0", `"", 2`) + ")"
	case 10:
		return "Object." + g.pick("keys", "values", "entries") + "(" + g.any(depth-1) + ")"
	}
	return "[" + l() + "][0]" + g.pick("?.[0]", "?.at(-1)", "?.[1]?.id", `?.find(x => x)`, "?.findLast(x => x)?.tag")
}

func (g *generator) object(depth int) string {
	if depth <= 0 {
		return g.pick("{}", "{b: 1, a: 2}", "{2: 'x', 1: 'y', z: null}", "input.object", "payload", "input.items[0]")
	}
	o := func() string { return g.often(g.object, depth) }
	switch g.one(6) {
	case 0, 1:
		return "({x: " + g.any(depth-1) + ", ..." + g.pick(o(), g.any(depth-1)) + ", [" + g.any(depth-1) + "]: " + g.any(depth-1) + "})"
	case 2:
		return "Object.fromEntries(Object.entries(" + o() + ").map(([k, v]) => [v, k]))"
	case 3:
		return "Object.assign({}, " + o() + ", " + o() + ")"
	case 4:
		return "(({a, b = 5, ...rest}) => ({a, b, rest}))(" + o() + ")"
	}
	// the oracle's JSON.parse loses halves of surrogate pairs
	return "JSON.parse(JSON.stringify(" + g.any(depth-1) + `).replaceAll("\\ud83d", "?").replaceAll("\\ude00", "?"))`
}

// arrow composes a function of up to n parameters.
func (g *generator) arrow(depth, n int) string {
	first := g.params
	count := g.one(n + 1)
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("p%d", first+i)
	}
	g.params += count
	body := g.any(depth - 1)
	g.params = first
	return "(" + strings.Join(names, ", ") + ") => (" + body + ")"
}
