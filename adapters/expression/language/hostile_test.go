package language_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

// The bounds that any hostile input must stay within; far above what it takes, so
// that a busy machine does not matter, and far below what the attack would take.
const (
	maxTime  = 5 * time.Second
	maxBytes = 64 << 20
)

// bounded fails when the work takes too long or allocates too much.
func bounded(t *testing.T, work func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	work()
	if took := time.Since(start); took > maxTime {
		t.Errorf("took %v", took)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > maxBytes {
		t.Errorf("allocated %d bytes", used)
	}
}

func TestHostileSourcesAreRefusedQuickly(t *testing.T) {
	repeat := strings.Repeat
	for claim, c := range map[string]struct{ source, code string }{
		"a long source":                          {repeat("1+", 40_000) + "1", language.CodeTooLong},
		"parentheses":                            {repeat("(", 30_000) + "1" + repeat(")", 30_000), language.CodeTooDeep},
		"brackets that do not close":             {repeat("[", 60_000), language.CodeTooDeep},
		"objects":                                {repeat("{a:", 20_000), language.CodeTooDeep},
		"template strings":                       {repeat("`${", 20_000), language.CodeTooDeep},
		"negations":                              {repeat("!", 60_000) + "1", language.CodeTooDeep},
		"minus signs":                            {repeat("- ", 30_000) + "1", language.CodeTooDeep},
		"sums":                                   {repeat("1+", 30_000) + "1", language.CodeTooDeep},
		"powers":                                 {repeat("1**", 20_000) + "1", language.CodeTooDeep},
		"conditions":                             {repeat("1?1:", 15_000) + "1", language.CodeTooDeep},
		"members":                                {"input" + repeat(".a", 30_000), language.CodeTooDeep},
		"optional members":                       {"input" + repeat("?.a", 20_000), language.CodeTooDeep},
		"calls":                                  {"input" + repeat(".trim()", 8_000), language.CodeTooDeep},
		"arrow functions":                        {repeat("x=>", 20_000) + "1", language.CodeTooDeep},
		"arrow functions as default values":      {repeat("(a=", 60) + "1" + repeat(")=>1", 60), language.CodeNotAllowed},
		"arrow functions in patterns":            {repeat("({a=", 60) + "1" + repeat("})=>1", 60), language.CodeNotAllowed},
		"assignments":                            {repeat("a=", 30_000) + "1", language.CodeNotAllowed},
		"a regular expression hides brackets":    {`/"/ + ` + repeat("(", 30_000) + `/"/`, language.CodeNotAllowed},
		"a statement hides a regular expression": {`x => { if (1) /"/ } + ` + repeat("(", 30_000) + `"`, language.CodeNotAllowed},
		"a source map is not read":               {"1\n//# sourceMappingURL=file:///etc/passwd\n+", language.CodeSyntax},
		"bytes that are no UTF-8":                {"input.\xff\xfe", language.CodeSyntax},
	} {
		t.Run(claim, func(t *testing.T) {
			bounded(t, func() {
				_, err := language.Compile(c.source, roots...)
				var refused *language.CompileError
				if !errors.As(err, &refused) || refused.Problems[0].Code != c.code {
					t.Errorf("got %.200v, want %s", err, c.code)
				}
			})
		})
	}
}

func TestHostileEvaluationsAreStopped(t *testing.T) {
	many := make([]any, 2000)
	for i := range many {
		many[i] = float64(i)
	}
	env := run.Env{Values: map[string]any{"input": map[string]any{"many": many, "long": strings.Repeat("ab", 500_000), "words": strings.Repeat("é ", 200_000)}}}
	const ten = `[0,1,2,3,4,5,6,7,8,9]`
	double := func(step string) string {
		return fmt.Sprintf(`%s.flatMap(() => %s).reduce((s) => %s, "xy")`, ten, ten, step)
	}
	for claim, c := range map[string]struct{ source, code string }{
		"repeat":                          {`"x".repeat(1e9)`, language.CodeMemory},
		"repeat beyond what an int holds": {`"xxxx".repeat(2 ** 62)`, language.CodeMemory},
		"data within many results":        {`input.many.map(() => input.many)`, language.CodeMemory},
		"repeat of a repeat":              {`"x".repeat(1e6).repeat(1e6)`, language.CodeMemory},
		"padding":                         {`"x".padStart(1e12, "ab")`, language.CodeMemory},
		"doubling by +":                   {double(`s + s`), language.CodeMemory},
		"doubling by a template string":   {double("`${s}${s}`"), language.CodeMemory},
		"doubling by concat":              {double(`s.concat(s)`), language.CodeMemory},
		"doubling by replaceAll":          {double(`s.replaceAll("x", "xx$&")`), language.CodeSteps},
		"doubling by join":                {double(`[s, s].join(s)`), language.CodeMemory},
		"doubling arrays by spread":       {double(`[...s, ...s]`), language.CodeSteps},
		"doubling arrays by concat":       {double(`[].concat(s, s)`), language.CodeSteps},
		"doubling by flat":                {double(`[s, s].flat()`), language.CodeSteps},
		"a result that shares its parts":  {double(`[s, s]`), language.CodeSteps},
		"an object that shares its parts": {double(`({a: s, b: s})`), language.CodeMemory},
		"JSON of shared parts":            {`JSON.stringify(` + double(`[s, s]`) + `)`, language.CodeSteps},
		"escapes of escapes":              {double(`JSON.stringify(s)`), language.CodeMemory},
		"URL encoding of itself":          {double(`encodeURIComponent(s + s)`), language.CodeSteps},
		"loops in loops":                  {`input.many.map(a => input.many.map(b => input.many.map(c => a + b + c)))`, language.CodeSteps},
		"a comparator":                    {`input.many.map(() => input.many.sort((a, b) => b - a))`, language.CodeSteps},
		"searches of a long text":         {`input.many.map(() => input.long.includes("x"))`, language.CodeSteps},
		"comparisons of a long text":      {`input.many.map(() => input.long + "" === input.long)`, language.CodeSteps},
		"characters of a long text":       {`input.many.map(i => input.words[i])`, language.CodeMemory},
		"case of a long text":             {`input.many.map(() => input.words.toUpperCase())`, language.CodeSteps},
		"a split into characters":         {`input.long.split("")`, language.CodeSteps},
		"a copy for each element":         {`input.many.map(() => [...input.many])`, language.CodeSteps},
		"an object of many members":       {`input.many.reduce((o, i) => ({...o, [i]: i}), {})`, language.CodeMemory},
		"arrays in arrays":                {`input.many.reduce((a) => [a], []).flat(Infinity)`, language.CodeNesting},
		"text of arrays in arrays":        {`"" + input.many.reduce((a) => [a], [])`, language.CodeNesting},
		"JSON of objects in objects":      {`JSON.stringify(input.many.reduce((a) => ({a}), {}))`, language.CodeNesting},
		"a result of arrays in arrays":    {`input.many.reduce((a) => [a], [])`, language.CodeNesting},
		"JSON that nests":                 {`JSON.parse("[".repeat(10000))`, language.CodeNesting},
	} {
		t.Run(claim, func(t *testing.T) {
			p := mustCompile(t, c.source)
			bounded(t, func() {
				_, err := p.Evaluate(env)
				var stopped *language.BudgetError
				if !errors.As(err, &stopped) || stopped.Code != c.code {
					t.Errorf("got %.200v, want %s", err, c.code)
				}
			})
		})
	}
}

func TestASourceFullOfProblemsNamesTwentyOfThem(t *testing.T) {
	_, err := language.Compile("[" + strings.Repeat("x,", 30_000) + "]")
	var refused *language.CompileError
	if !errors.As(err, &refused) || len(refused.Problems) != 20 {
		t.Errorf("got %.200v", err)
	}
}

func TestBudgetsAreTheCallers(t *testing.T) {
	for claim, c := range map[string]struct {
		source string
		limits language.Limits
		fits   bool
	}{
		"enough steps":      {"[1, 2, 3].map(x => x + 1)", language.Limits{Steps: 20}, true},
		"too few steps":     {"[1, 2, 3].map(x => x + 1)", language.Limits{Steps: 8}, false},
		"enough memory":     {`"x".repeat(1000)`, language.Limits{Memory: 4000}, true},
		"too little memory": {`"x".repeat(1000)`, language.Limits{Memory: 900}, false},
		"enough depth":      {`JSON.stringify([[1]])`, language.Limits{Depth: 4}, true},
	} {
		p, err := c.limits.Compile(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Evaluate(run.Env{}); (err == nil) != c.fits {
			t.Errorf("%s: %v", claim, err)
		}
	}
	if _, err := (language.Limits{Depth: 2}).Compile("[[[1]]]"); err == nil {
		t.Error("a source nested 3 deep compiles with a depth of 2")
	}
	if _, err := (language.Limits{Source: 4}).Compile("1 + 1"); err == nil {
		t.Error("a source of 5 bytes compiles with a limit of 4")
	}
}
