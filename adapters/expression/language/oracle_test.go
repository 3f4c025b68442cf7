package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
)

// oracle is goja's virtual machine: JavaScript as it really is.
type oracle struct {
	vm *goja.Runtime
}

// describeInJavaScript spells a value out with all that JSON hides.
const describeInJavaScript = `
function quoteUnits(s) { return '"' + Array.from({length: s.length}, (_, i) => s.charCodeAt(i).toString(16)).join(' ') + '"' }
function describeValue(v) {
	if (v === undefined) return 'undefined';
	if (v === null) return 'null';
	if (typeof v === 'number') return Object.is(v, -0) ? '-0' : String(v);
	if (typeof v === 'string') return quoteUnits(v);
	if (typeof v !== 'object') return String(v);
	if (Array.isArray(v)) return '[' + Array.from(v, describeValue).join(',') + ']';
	return '{' + Object.keys(v).map(k => quoteUnits(k) + ':' + describeValue(v[k])).join(',') + '}';
}
`

// oracleRepairs mends what goja does unlike ECMA-262: Math.sign gives NaN back
// unconverted, and trim and the case methods lose halves of surrogate pairs. More of
// its faults the generator avoids: bits of numbers beyond 2^63, parseInt of more
// digits than a number holds, the sign of zero from products and parseInt, comparators that
// give -0, JSON.parse of halves of surrogate pairs, == between a whole number and a
// text such as "1e3", texts of more hexadecimal digits than 64 bits hold, and
// replaceAll of "" in a text beyond ASCII, which never ends.
const oracleRepairs = `
const sign = Math.sign;
Math.sign = x => { const n = Number(x); return n !== n ? NaN : sign(n) };
const isHalf = c => c.length === 1 && c >= '\ud800' && c <= '\udfff';
for (const name of ['toUpperCase', 'toLowerCase', 'trim', 'trimStart', 'trimEnd']) {
	const original = String.prototype[name];
	String.prototype[name] = function () {
		const s = String(this);
		if (!Array.from(s).some(isHalf)) return original.call(s);
		if (name.startsWith('trim')) {
			let from = 0, to = s.length;
			while (from < to && name !== 'trimEnd' && original.call(s[from]) === '') from++;
			while (from < to && name !== 'trimStart' && original.call(s[to - 1]) === '') to--;
			return s.slice(from, to);
		}
		let out = '', run = '';
		for (const c of s) {
			if (isHalf(c)) { out += original.call(run) + c; run = '' } else run += c;
		}
		return out + original.call(run);
	};
}
`

func newOracle(t testing.TB) *oracle {
	vm := goja.New()
	if _, err := vm.RunString(describeInJavaScript + oracleRepairs); err != nil {
		t.Fatal(err)
	}
	return &oracle{vm: vm}
}

// run evaluates the source and spells the value out.
func (o *oracle) run(t interface{ Fatal(...any) }, source string, env run.Env) (string, error) {
	for name, value := range env.Values {
		o.set(t, name, value)
	}
	if err := o.vm.Set("now", func() int64 { return env.Now.UnixMilli() }); err != nil {
		t.Fatal(err)
	}
	v, err := o.vm.RunString("describeValue((" + source + "\n))")
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// set gives a JSON tree a name.
func (o *oracle) set(t interface{ Fatal(...any) }, name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := o.vm.RunString("(" + string(text) + ")")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.vm.Set(name, tree); err != nil {
		t.Fatal(err)
	}
}

// runOurs evaluates the source here, without the conversion to JSON.
func runOurs(source string, env run.Env) (string, error) {
	p, err := Limits{Steps: 1 << 24, Memory: 1 << 28}.Compile(source, "input", "payload", "nodes", "run")
	if err != nil {
		return "", err
	}
	v, err := execute(p.text, p.limits, p.slots, &env, func(m *Machine) any { return describeOurs(m, p.run(m)) })
	if err != nil {
		return "", err
	}
	return v.(string), nil
}

func describeOurs(m *Machine, v any) string {
	switch v := v.(type) {
	case float64:
		if v == 0 && 1/v < 0 {
			return "-0"
		}
		return formatNumber(v)
	case string:
		var units []string
		for _, u := range m.units(v) {
			units = append(units, strconv.FormatUint(uint64(u), 16))
		}
		return `"` + strings.Join(units, " ") + `"`
	}
	var parts []string
	if elems, ok := elements(v); ok {
		for _, e := range elems {
			parts = append(parts, describeOurs(m, m.read(e)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	if isObject(v) {
		for _, key := range m.ownKeys(v) {
			parts = append(parts, describeOurs(m, key)+":"+describeOurs(m, m.member(v, key)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return m.text(v)
}

// oracleEnv is what generated expressions see.
func oracleEnv() run.Env {
	return run.Env{
		Values: map[string]any{
			"input": map[string]any{
				"amount": 120.5, "count": 3.0, "zero": 0.0, "name": "Ana", "wide": "h\u00e9\U0001F600\ufb01x", "empty": "", "digits": " 42 ",
				"yes": true, "no": false, "nothing": nil,
				"list": []any{3.0, 1.0, 2.0, 10.0}, "mixed": []any{"b", 1.0, nil, true, "a", []any{1.0, "x"}},
				"items": []any{map[string]any{"id": 1.0, "tag": "x"}, map[string]any{"id": 2.0, "tag": "y"}}, "none": []any{},
				"object": map[string]any{"b": 1.0, "a": "two", "10": "ten", "9": "nine"},
			},
			"payload": map[string]any{"kind": "a", "id": "7"},
			"nodes":   map[string]any{"fetch": map[string]any{"body": map[string]any{"id": 9.0}}},
			"run":     map[string]any{},
		},
		Now: time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC),
	}
}

// TestOracleAgreesWithJavaScript composes expressions and compares each value with
// JavaScript's; where JavaScript throws, an evaluation must fail, and the reverse.
func TestOracleAgreesWithJavaScript(t *testing.T) {
	o := newOracle(t)
	env := oracleEnv()
	for depth := 2; depth <= 4; depth++ {
		t.Run(fmt.Sprintf("nested %d deep", depth), rapid.MakeCheck(func(rt *rapid.T) { o.compare(rt, env, depth) }))
	}
}

// compare checks some expressions that are composed down to the depth.
func (o *oracle) compare(rt *rapid.T, env run.Env, depth int) {
	for range 20 {
		g := &generator{t: rt}
		source := g.any(depth)
		want, jsErr := o.run(rt, source, env)
		got, err := runOurs(source, env)
		if _, isCompile := errors.AsType[*CompileError](err); isCompile {
			rt.Fatalf("%s\ndoes not compile: %v", source, err)
		}
		if _, isBudget := errors.AsType[*BudgetError](err); isBudget {
			continue
		}
		if (jsErr != nil) != (err != nil) || got != want {
			rt.Fatalf("%s\nJavaScript: %s %v\nours:       %s %v", source, want, jsErr, got, err)
		}
	}
}
