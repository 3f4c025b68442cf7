// Package language is the expression language of workflows: single JavaScript expressions over JSON trees, without input,
// output, clock or randomness, in bounded time and memory, with the same result on
// every replay.
//
// A source is parsed by goja's parser and compiled to closures; what is not on the
// list of what is permitted is a problem when it is compiled. Names at the
// beginning are the roots that the caller permits, parameters of arrow functions,
// undefined, NaN, Infinity, the functions now, link, Number, String, Boolean, parseInt,
// parseFloat, isNaN, isFinite, encodeURI and encodeURIComponent, and members of
// Math, JSON, Object, Number and Array. now() is the instant that the environment
// names, in milliseconds since 1970.
//
// There are: literals, template strings, arrays and objects with spread, members,
// ?. and ??, the operators of comparison, arithmetic, bits and logic, typeof, in,
// ?:, calls of built-in functions and of the methods of strings, arrays and
// numbers, and arrow functions with one expression as body, whose parameters may
// be patterns with defaults. There are no statements, assignments, regular
// expressions, classes, other functions, new, this, void, delete, ++, comma
// operators, holes in arrays, big integers and tags of template strings.
//
// # Differences from JavaScript
//
// What compiles means what ECMA-262 says, except:
//
//   - Functions are no values. An arrow function or the name of a built-in function
//     stands where a method such as map takes it, or is called on the spot. So
//     nothing can call itself and every evaluation ends.
//   - Nothing is inherited: toString, constructor or __proto__ of an object is its
//     own member of that name, else undefined; in sees own members only. The key
//     __proto__ of an object literal is refused.
//   - Nothing is changed: sort and reverse work on a copy, Object.assign gives a new
//     object and takes an object first. push, pop, splice and the like are refused.
//   - The default of a parameter sees the parameters before it, not those after.
//   - A comparison by < > <= >= or in must not be an operand of another.
//   - Members of the environment's objects come in the order of their names, array
//     indices first, since JSON objects have none; those of objects that the
//     expression creates in the order of JavaScript.
//   - An empty array of the environment equals (===) every other one.
//   - Half of a surrogate pair cannot be looked for (includes, split, replace and
//     the like). Patterns are strings, and replacements are no functions.
//   - JSON.stringify takes no replacer and JSON.parse no reviver; toString with a
//     radix other than 10 takes whole numbers below 2^53.
//   - An array that is joined, flattened, parsed or rendered nests at most
//     Limits.Depth deep.
//   - sort merges from the left; with a comparator that contradicts itself the
//     order is the same on every replay, though not that of any engine.
//
// Strings are UTF-16 as in JavaScript: lengths and indices count code units, and
// halves of surrogate pairs exist within an evaluation. In its result each is
// U+FFFD.
//
// # Budgets
//
// [Limits] bound each evaluation. Steps count operations, visited elements, each 64
// bytes of text that are read, each four bytes of a number beyond the first sixteen, and
// more where reading takes longer; memory counts what is created, whether or not it is
// still in use, before it is allocated. A step stands for less than 0.2 microseconds. The
// bytes that are allocated are more than those that the limit counts: [MaxEvaluation].
// A [run.Meter] in the environment counts what each evaluation costs.
//
// # Order of the files
//
// scan.go reads tokens before goja's parser does; compile.go, literal.go, operator.go,
// access.go and arrow.go turn the syntax tree into closures; machine.go runs them and
// counts; builtin.go, math.go, json.go and the methods are what they call; value.go,
// utf16.go, number.go and convert.go are the values. embed.go is for packages that put
// several expressions into one program, such as templates.
package language
