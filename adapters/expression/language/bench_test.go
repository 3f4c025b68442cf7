package language_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/expression/language"
)

func BenchmarkEvaluate(b *testing.B) {
	for name, source := range map[string]string{
		"condition": `input.amount > 100 && payload.kind === "a"`,
		"template":  "`${input.name} owes ${input.amount}`",
		"reduce":    `input.items.reduce((sum, i) => sum + i.price * i.count, 0)`,
		"map":       `input.items.map(({id, price}) => ({id, price}))`,
	} {
		b.Run(name, func(b *testing.B) {
			p, env := mustCompile(b, source), order()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Evaluate(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := language.Compile(`input.items.filter(i => i.price > 2).map(({id, price}) => ({id, price: price * 1.2}))`, roots...); err != nil {
			b.Fatal(err)
		}
	}
}
