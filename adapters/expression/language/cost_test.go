package language_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

// sized is an environment whose values are n long.
func sized(n int) map[string]any {
	repeat := strings.Repeat
	list, numbers, names := make([]any, n), make([]any, n), make([]any, n)
	object, indices := map[string]any{}, map[string]any{}
	for i := range n {
		list[i], numbers[i], names[i] = float64(i), json.Number(fmt.Sprintf("%d.5", i)), fmt.Sprintf("name-%d", i*7919%n)
		object[fmt.Sprintf("k%d", i)], indices[fmt.Sprint(i)] = 1.0, 1.0
	}
	text := repeat("ab", n/2)
	return map[string]any{
		"list": list, "numbers": numbers, "names": names, "object": object, "indices": indices, "lists": []any{list, list},
		"text": text, "wide": repeat("é", n/2), "emoji": repeat("😀", n/4), "halves": repeat("\ud7a3", n/3), "spaces": repeat(" ", n), "sigmas": repeat("Σ'''", n/5),
		"digits": json.Number(repeat("7", n) + fmt.Sprintf("e-%d", n)), "fraction": json.Number("0." + repeat("7", n)), "digitText": repeat("7", n), "hex": "0x" + repeat("f", n),
		"other": text[:len(text)-1] + "c", "quotes": repeat(`"`, n), "named": map[string]any{text: 1.0}, "json": "[" + repeat("1,", n/2) + "1]", "jsonText": `"` + repeat(`\n`, n/2) + `"`,
		"jsonNumber": repeat("7", n), "jsonObject": `{"` + text + `":1}`, "url": "https://example.com/" + text,
	}
}

// TestStepsGrowWithWhatIsTouched evaluates each operation on values of one size and of
// ten times that: it must count ten times the steps, and one for no more than a few
// hundred bytes or some tens of elements.
func TestStepsGrowWithWhatIsTouched(t *testing.T) {
	limits := language.Limits{Steps: 1 << 40, Memory: 1 << 40}
	const size = 8000
	small, large := sized(size), sized(10*size)
	for _, source := range costly {
		p, err := limits.Compile(source, "input")
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		steps := func(input map[string]any) int64 {
			var meter run.Meter
			if _, err := p.Evaluate(run.Env{Values: map[string]any{"input": input}, Meter: &meter}); err != nil {
				t.Fatalf("%.100s: %v", source, err)
			}
			return meter.Steps
		}
		less, more := steps(small), steps(large)
		if less < size/512 || more < 9*less {
			t.Errorf("%s takes %d steps, and %d with ten times the data", source, less, more)
		}
	}
}

// costly are operations whose work grows with the values they are given.
var costly = []string{
	// numbers with many digits
	`input.digits`, `input.fraction`, `+input.digitText`, `Number(input.digitText)`, `input.digits + 1`, `input.digits < 1`, `input.digitText == 1`, `Math.max(input.digits, 1)`, `isNaN(input.digitText)`,
	`[input][0]["digits"]`, `(({digits}) => digits)(input)`, `parseInt(input.digitText)`, `parseFloat(input.digitText)`, `Number(input.hex)`, `parseInt(input.hex, 16)`, `~input.digitText`, `Number(input.spaces)`,
	`[1].concat(Object.values({a: input.digits}))`, `JSON.parse(input.jsonNumber)`, `[3, 1].sort((a, b) => input.digits)`, `[1].at(input.digitText)`, "`${input.digits}`",
	// texts
	`input.text + "x"`, "`${input.text}`", `input.text === input.other`, `input.text == input.other`, `input.text < input.other`, `input.text.length`, `input.wide.length`, `input.emoji.length`, `input.text[5]`, `input.wide[5]`,
	`input.text.at(-1)`, `input.wide.charAt(1)`, `input.text.charCodeAt(1)`, `input.wide.codePointAt(1)`, `input.text.concat("x")`, `input.text.includes("x")`, `input.text.indexOf("x", 5)`, `input.text.lastIndexOf("x")`,
	`input.wide.lastIndexOf("x", 9)`, `input.text.startsWith("b", 1)`, `input.text.endsWith("b", 2)`, `"a".includes(input.text)`, `input.text.slice(1)`, `input.wide.slice(1)`, `input.wide.substring(1, 9)`,
	`input.text.toUpperCase()`, `input.wide.toLowerCase()`, `input.sigmas.toLowerCase()`, `input.spaces.trim()`, `input.text.trimEnd()`, `input.text.repeat(2)`, `"x".padStart(input.text.length)`, `"x".padEnd(9, input.text)`,
	`input.text.split("")`, `input.wide.split("")`, `input.text.split("a")`, `input.text.split("x")`, `input.text.replace("x", "y")`, `input.text.replaceAll("a", "y")`, `input.text.replaceAll("", "y")`, `input.text.replace("b", "$'")`,
	`"a".replace("a", input.text)`, `encodeURI(input.text)`, `encodeURIComponent(input.wide)`, `[...input.emoji]`, `{...input.text}`, `{...input.wide}`, `Object.keys(input.text)`, `Object.values(input.wide)`, `JSON.stringify(input.quotes)`,
	`JSON.stringify(input.halves)`, `[input.halves]`, `input.text`, `JSON.parse(input.json)`, `JSON.parse(input.jsonText)`, `JSON.parse(input.jsonObject)`, `input.text.hasOwnProperty("1")`, `[input.text, input.other].sort()`, `[input.text] + ""`,
	// names of members
	`input[input.text]`, `input.text in input`, `{[input.text]: 1}`, `Object.keys(input.named)`, `Object.values(input.named)`, `{...input.named}`, `Object.fromEntries([[input.text, 1]])`, `(({[input.text]: a}) => a)(input)`, `Object.hasOwn(input, input.text)`,
	// lists
	`[...input.list]`, `[...input.numbers]`, `Math.max(...input.list)`, `Math.hypot(...input.list)`, `Boolean(...input.list)`, `((...all) => all.length)(...input.list)`, `(([a, ...others]) => others.length)(input.list)`,
	`input.list.map(x => x)`, `input.list.map(Number)`, `input.list.filter(x => x)`, `input.list.some(x => x < 0)`, `input.list.every(x => true)`, `input.list.find(x => x < 0)`, `input.list.findLast(x => x < 0)`, `input.list.reduce((a, x) => a + x)`,
	`input.list.reduceRight((a, x) => a + x)`, `input.list.flatMap(x => [x])`, `input.lists.flat()`, `input.list.concat(1)`, `[].concat(input.list)`, `input.list.includes(-1)`, `input.list.indexOf(-1)`, `input.list.lastIndexOf(-1)`, `input.list.join()`,
	`input.list.slice(1)`, `input.list.reverse()`, `input.list.sort()`, `input.names.sort()`, `input.list.sort((a, b) => b - a)`, `input.list + ""`, `input.list == ""`, `input.list < 1`, `Object.keys(input.list)`, `Object.entries(input.list)`, `{...input.list}`,
	`JSON.stringify(input.list)`, `[input.list]`, `[input.numbers]`, `{a: input.object}`, `Object.fromEntries(input.names.map(x => [x, x]))`,
	// objects
	`Object.keys(input.object)`, `Object.values(input.object)`, `Object.entries(input.indices)`, `{...input.object}`, `{...input.indices}`, `Object.assign({}, input.object)`, `(({k1, ...others}) => others)(input.object)`, `JSON.stringify(input.indices)`,
	`Object.keys({...input.indices, a: 1})`,
}

func TestStepsGrowWithTheSource(t *testing.T) {
	limits := language.Limits{Source: 1 << 22, Steps: 1 << 40, Memory: 1 << 40}
	repeat := func(n int, part string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	for claim, source := range map[string]func(n int) string{
		"arguments":           func(n int) string { return "isNaN(" + repeat(n, "1,") + "1)" },
		"elements":            func(n int) string { return "[" + repeat(n, "1,") + "1].length" },
		"members":             func(n int) string { return "typeof {" + repeat(n, "a#:1,") + "b:1}" },
		"parameters":          func(n int) string { return "((" + repeat(n, "a#,") + "b) => 1)()" },
		"nested patterns":     func(n int) string { return "((" + repeat(n, "[a#] = [],") + "b) => 1)()" },
		"patterns of members": func(n int) string { return "(({" + repeat(n, "a#,") + "b}) => 1)({})" },
		"members left out":    func(n int) string { return "(({" + repeat(n, "a#,") + "...b}) => b)({})" },
		"template strings":    func(n int) string { return "`" + repeat(n, "${''}") + "`" },
		"a member's name":     func(n int) string { return "({})." + strings.Repeat("a", 16*n) },
		"a key":               func(n int) string { return "typeof {" + strings.Repeat("a", 16*n) + ": 1}" },
		"a computed name":     func(n int) string { return `({})["` + strings.Repeat("a", 16*n) + `"]` },
	} {
		steps := func(n int) int64 {
			p, err := limits.Compile(source(n))
			if err != nil {
				t.Fatalf("%s: %v", claim, err)
			}
			var meter run.Meter
			if _, err := p.Evaluate(run.Env{Meter: &meter}); err != nil {
				t.Fatalf("%s: %v", claim, err)
			}
			return meter.Steps
		}
		if less, more := steps(2000), steps(20_000); less < 2000/16 || more < 9*less {
			t.Errorf("%s take %d steps, and ten times as many %d", claim, less, more)
		}
	}
}

// TestWorkThatStepsDoNotShowIsStopped gives operations, again and again, what they are
// slow with though it is short, or what is as long as a request may be.
func TestWorkThatStepsDoNotShowIsStopped(t *testing.T) {
	repeat := strings.Repeat
	period := repeat("ab"+repeat("c", 15), 53_000)
	long := map[string]any{
		"digitText": repeat("7", 900_000), "jsonNumber": repeat("7", 900_000), "hex": "0x" + repeat("f", 900_000), "spaces": repeat(" ", 900_000),
		"other": repeat("ab", 449_999) + "ac", "object": sized(100_000)["object"],
	}
	env := map[string]any{
		"long": long, "many": sized(200_000)["list"], "tens": sized(20_000)["list"],
		"digits": json.Number(repeat("7", 900_000)), "hundreds": json.Number("0." + repeat("7", 300)), "underflow": json.Number("3.7e-320"), "nothing": json.Number("7e-326"), "beyond": json.Number("7e308"),
		"halfway": json.Number("1.00000000000000011102230246251565404236316680908203125" + repeat("0", 740) + "1e-300"),
		"period":  period, "needle": period[:len(period)/2] + "x", "last": "x" + period[len(period)/2:], "dollars": repeat("$`", 1000), "text": repeat("ab", 450_000),
		"keys": map[string]any{repeat("x", 200_000) + "1": 1.0, repeat("x", 200_000) + "2": 2.0},
	}
	for _, source := range []string{
		`input.digits`, `input.tens.map(() => input.digits)`, `Number(input.long.digitText)`, `input.tens.reduce(s => s + input.hundreds, 0)`, `input.tens.some(() => input.hundreds < 0)`, `Math.max(...input.tens.map(() => input.hundreds))`,
		`input.tens.sort((a, b) => a * input.hundreds - b)`, `JSON.parse(input.long.jsonNumber)`, `input.tens.some(x => x === input.hundreds ? true : x === -input.hundreds ? true : false)`, `input.tens.map(() => String(input.hundreds) in input)`,
		`input.tens.some(() => input.underflow < 0)`, `input.tens.some(() => input.nothing < 0)`, `input.tens.some(() => input.beyond < 0)`, `input.tens.some(() => Number("3e-320") < 0)`, `input.tens.some(() => input.halfway < 0)`, `input.tens.some(() => parseInt(input.long.hex) < 0)`,
		`input.tens.map(() => ((a, ...others) => others)(...input.many))`, `input.tens.map(() => [...input.many])`, `input.tens.map(() => Object.assign({}, input.long.object))`, `input.tens.map(() => (({k1, ...others}) => others)(input.long.object))`,
		`input.tens.map(() => (([a, ...others]) => others)(input.many))`, `Object.keys(input.long.object)`, `input.tens.map(() => Object.keys(input.keys))`, `input.tens.map(() => input.many.join(""))`, `input.many.join(input.text)`,
		`input.text.replaceAll("a", input.dollars)`, "input.text.replaceAll('a', '$`')", `input.text.replaceAll("", "$'")`, `input.period.includes(input.needle)`, `input.period.lastIndexOf(input.last)`, `input.period.split(input.needle)`,
		`input.tens.some(() => input.long.other < input.text)`, `input.tens.some(() => [input.text + ""].includes(input.long.other + ""))`, `input.tens.map(() => input.text in input)`, `input.tens.some(() => input.text.trim() === "")`, `input.tens.some(() => input.long.spaces.trim())`,
		`input.tens.some(() => isNaN(` + repeat("1,", 30_000) + `1) && false)`, `input.tens.some(() => "` + "`" + `" === ` + "`" + repeat("${''}", 10_000) + "`)", `input.tens.some(x => input.` + repeat("a", 60_000) + `)`,
	} {
		p, err := language.Compile(source, "input")
		if err != nil {
			t.Fatalf("%.100s: %v", source, err)
		}
		var stopped *language.BudgetError
		if _, err := p.Evaluate(run.Env{Values: map[string]any{"input": env}}); !errors.As(err, &stopped) {
			t.Errorf("%.100s is not stopped: %v", source, err)
		}
	}
}

// TestOrdinaryNumbersCostWhatTheyDid reads numbers as people and programs write them.
func TestOrdinaryNumbersCostWhatTheyDid(t *testing.T) {
	p := mustCompile(t, `input.n + input.n`)
	for _, n := range []string{"0", "-7", "12.50", "0.1", "1e21", "1.5e-7", "9007199254740993", "123456789012345678", "6.02214076e23", "-273.15"} {
		var meter, plain run.Meter
		for number, m := range map[any]*run.Meter{json.Number(n): &meter, 1.0: &plain} {
			if _, err := p.Evaluate(run.Env{Values: map[string]any{"input": map[string]any{"n": number}}, Meter: m}); err != nil {
				t.Fatal(err)
			}
		}
		if meter.Steps != plain.Steps {
			t.Errorf("%s costs %d steps, and 1 costs %d", n, meter.Steps, plain.Steps)
		}
	}
}
