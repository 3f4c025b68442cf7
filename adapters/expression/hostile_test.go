package expression_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/expression"
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
		"a long source":                          {repeat("1+", 40_000) + "1", expression.CodeTooLong},
		"parentheses":                            {repeat("(", 30_000) + "1" + repeat(")", 30_000), expression.CodeTooDeep},
		"brackets that do not close":             {repeat("[", 60_000), expression.CodeTooDeep},
		"objects":                                {repeat("{a:", 20_000), expression.CodeTooDeep},
		"template strings":                       {repeat("`${", 20_000), expression.CodeTooDeep},
		"negations":                              {repeat("!", 60_000) + "1", expression.CodeTooDeep},
		"minus signs":                            {repeat("- ", 30_000) + "1", expression.CodeTooDeep},
		"sums":                                   {repeat("1+", 30_000) + "1", expression.CodeTooDeep},
		"powers":                                 {repeat("1**", 20_000) + "1", expression.CodeTooDeep},
		"conditions":                             {repeat("1?1:", 15_000) + "1", expression.CodeTooDeep},
		"members":                                {"input" + repeat(".a", 30_000), expression.CodeTooDeep},
		"optional members":                       {"input" + repeat("?.a", 20_000), expression.CodeTooDeep},
		"calls":                                  {"input" + repeat(".trim()", 8_000), expression.CodeTooDeep},
		"arrow functions":                        {repeat("x=>", 20_000) + "1", expression.CodeTooDeep},
		"arrow functions as default values":      {repeat("(a=", 60) + "1" + repeat(")=>1", 60), expression.CodeNotAllowed},
		"arrow functions in patterns":            {repeat("({a=", 60) + "1" + repeat("})=>1", 60), expression.CodeNotAllowed},
		"assignments":                            {repeat("a=", 30_000) + "1", expression.CodeNotAllowed},
		"a regular expression hides brackets":    {`/"/ + ` + repeat("(", 30_000) + `/"/`, expression.CodeNotAllowed},
		"a statement hides a regular expression": {`x => { if (1) /"/ } + ` + repeat("(", 30_000) + `"`, expression.CodeNotAllowed},
		"a source map is not read":               {"1\n//# sourceMappingURL=file:///etc/passwd\n+", expression.CodeSyntax},
		"bytes that are no UTF-8":                {"input.\xff\xfe", expression.CodeSyntax},
	} {
		t.Run(claim, func(t *testing.T) {
			bounded(t, func() {
				_, err := expression.Compile(c.source, roots...)
				var refused *expression.CompileError
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
	env := expression.Env{Values: map[string]any{"input": map[string]any{"many": many, "long": strings.Repeat("ab", 500_000), "words": strings.Repeat("é ", 200_000)}}}
	const ten = `[0,1,2,3,4,5,6,7,8,9]`
	double := func(step string) string {
		return fmt.Sprintf(`%s.flatMap(() => %s).reduce((s) => %s, "xy")`, ten, ten, step)
	}
	for claim, c := range map[string]struct{ source, code string }{
		"repeat":                          {`"x".repeat(1e9)`, expression.CodeMemory},
		"repeat beyond what an int holds": {`"xxxx".repeat(2 ** 62)`, expression.CodeMemory},
		"data within many results":        {`input.many.map(() => input.many)`, expression.CodeMemory},
		"repeat of a repeat":              {`"x".repeat(1e6).repeat(1e6)`, expression.CodeMemory},
		"padding":                         {`"x".padStart(1e12, "ab")`, expression.CodeMemory},
		"doubling by +":                   {double(`s + s`), expression.CodeMemory},
		"doubling by a template string":   {double("`${s}${s}`"), expression.CodeMemory},
		"doubling by concat":              {double(`s.concat(s)`), expression.CodeMemory},
		"doubling by replaceAll":          {double(`s.replaceAll("x", "xx$&")`), expression.CodeSteps},
		"doubling by join":                {double(`[s, s].join(s)`), expression.CodeMemory},
		"doubling arrays by spread":       {double(`[...s, ...s]`), expression.CodeSteps},
		"doubling arrays by concat":       {double(`[].concat(s, s)`), expression.CodeSteps},
		"doubling by flat":                {double(`[s, s].flat()`), expression.CodeSteps},
		"a result that shares its parts":  {double(`[s, s]`), expression.CodeSteps},
		"an object that shares its parts": {double(`({a: s, b: s})`), expression.CodeMemory},
		"JSON of shared parts":            {`JSON.stringify(` + double(`[s, s]`) + `)`, expression.CodeSteps},
		"escapes of escapes":              {double(`JSON.stringify(s)`), expression.CodeMemory},
		"URL encoding of itself":          {double(`encodeURIComponent(s + s)`), expression.CodeSteps},
		"loops in loops":                  {`input.many.map(a => input.many.map(b => input.many.map(c => a + b + c)))`, expression.CodeSteps},
		"a comparator":                    {`input.many.map(() => input.many.sort((a, b) => b - a))`, expression.CodeSteps},
		"searches of a long text":         {`input.many.map(() => input.long.includes("x"))`, expression.CodeSteps},
		"comparisons of a long text":      {`input.many.map(() => input.long + "" === input.long)`, expression.CodeSteps},
		"characters of a long text":       {`input.many.map(i => input.words[i])`, expression.CodeMemory},
		"case of a long text":             {`input.many.map(() => input.words.toUpperCase())`, expression.CodeSteps},
		"a split into characters":         {`input.long.split("")`, expression.CodeSteps},
		"a copy for each element":         {`input.many.map(() => [...input.many])`, expression.CodeSteps},
		"an object of many members":       {`input.many.reduce((o, i) => ({...o, [i]: i}), {})`, expression.CodeMemory},
		"arrays in arrays":                {`input.many.reduce((a) => [a], []).flat(Infinity)`, expression.CodeNesting},
		"text of arrays in arrays":        {`"" + input.many.reduce((a) => [a], [])`, expression.CodeNesting},
		"JSON of objects in objects":      {`JSON.stringify(input.many.reduce((a) => ({a}), {}))`, expression.CodeNesting},
		"a result of arrays in arrays":    {`input.many.reduce((a) => [a], [])`, expression.CodeNesting},
		"JSON that nests":                 {`JSON.parse("[".repeat(10000))`, expression.CodeNesting},
	} {
		t.Run(claim, func(t *testing.T) {
			p := mustCompile(t, c.source)
			bounded(t, func() {
				_, err := p.Evaluate(env)
				var stopped *expression.BudgetError
				if !errors.As(err, &stopped) || stopped.Code != c.code {
					t.Errorf("got %.200v, want %s", err, c.code)
				}
			})
		})
	}
}

func TestASourceFullOfProblemsNamesTwentyOfThem(t *testing.T) {
	_, err := expression.Compile("[" + strings.Repeat("x,", 30_000) + "]")
	var refused *expression.CompileError
	if !errors.As(err, &refused) || len(refused.Problems) != 20 {
		t.Errorf("got %.200v", err)
	}
}

func TestTreesOfTemplatesThatNestTooDeepAreRefused(t *testing.T) {
	var tree any = "{{ 1 }}"
	for range expression.DefaultDepth {
		tree = []any{tree}
	}
	_, err := expression.CompileTemplateTree(tree)
	var refused *expression.CompileError
	if !errors.As(err, &refused) || refused.Problems[0].Code != expression.CodeTooDeep {
		t.Errorf("got %v, want %s", err, expression.CodeTooDeep)
	}
	if _, err := expression.CompileTemplateTree(tree.([]any)[0]); err != nil {
		t.Errorf("one level less: %v", err)
	}
}

func TestBudgetsAreTheCallers(t *testing.T) {
	for claim, c := range map[string]struct {
		source string
		limits expression.Limits
		fits   bool
	}{
		"enough steps":      {"[1, 2, 3].map(x => x + 1)", expression.Limits{Steps: 20}, true},
		"too few steps":     {"[1, 2, 3].map(x => x + 1)", expression.Limits{Steps: 8}, false},
		"enough memory":     {`"x".repeat(1000)`, expression.Limits{Memory: 4000}, true},
		"too little memory": {`"x".repeat(1000)`, expression.Limits{Memory: 900}, false},
		"enough depth":      {`JSON.stringify([[1]])`, expression.Limits{Depth: 4}, true},
	} {
		p, err := c.limits.Compile(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Evaluate(expression.Env{}); (err == nil) != c.fits {
			t.Errorf("%s: %v", claim, err)
		}
	}
	if _, err := (expression.Limits{Depth: 2}).Compile("[[[1]]]"); err == nil {
		t.Error("a source nested 3 deep compiles with a depth of 2")
	}
	if _, err := (expression.Limits{Source: 4}).Compile("1 + 1"); err == nil {
		t.Error("a source of 5 bytes compiles with a limit of 4")
	}
}
