package attack

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/deploy/harness"
)

// scripts are what hostile code tries, by the name of its node. None ends by itself as it should.
var scripts = map[string]string{
	"endless":   "for (;;) { try { for (;;); } catch { } finally { continue } }",
	"async":     "return (async () => { for (;;) await null })()",
	"memory":    "const kept = []; for (;;) kept.push({ more: [kept.length] })",
	"text":      "let s = 'x'; for (;;) s += s",
	"buffers":   "const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1))",
	"recursion": "const f = n => f(n + 1) + 1; return f(0)",
	"nested":    "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a",
	"matching":  "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
	"output":    "return payload.l.map(() => 'x'.repeat(100000))",
	"console":   "for (;;) console.log('x'.repeat(1e6))",
	"outside":   "return [typeof require, typeof fetch, import('fs')]",
	"long":      strings.Repeat("input?.a+\n", 6000) + "1",
	"prototype": "Object.prototype.toJSON = () => { for (;;); }; Array.prototype.push = () => { throw 1 }; return [{}]",
}

// code runs hostile scripts for as long and with as much memory as they may have, many at once, in
// runs and in simulations, and has the sources of others compiled.
func code() Attack {
	payload := member("l", list("[]", 30_000))
	return Attack{
		Name: "code", About: "JavaScript that never ends, takes all memory, recurses, matches for ever, floods its log and looks for a way out",
		round: func(ctx context.Context, t *Tenant) error {
			var made []*workflow
			for _, name := range slices.Sorted(maps.Keys(scripts)) {
				w, err := t.workflow(ctx, "code "+name, func() design { return script(scripts[name]) })
				if err != nil {
					return err
				}
				made = append(made, w)
			}
			t.begin()
			parallel(2*len(made), func(i int) {
				w := made[i/2]
				t.call(ctx, w, payload)
				if i%2 == 0 {
					t.send(ctx, http.MethodPost, "/workflow-versions/"+w.version+"/simulate", eventData(payload))
				} else {
					t.send(ctx, http.MethodPost, "/workflow-versions/"+w.version+"/validate", nil)
				}
			})
			return nil
		},
	}
}

// script is a workflow of code that may take whatever code may take, and is tried again where it
// seems to help.
func script(source string) design {
	return design{
		config: map[string]any{"retryPolicy": map[string]any{"maxRetries": 3, "backoffMs": 100, "maxBackoffMs": 1000}},
		nodes:  []map[string]any{harness.Node("script", "code", map[string]any{"source": source, "timeoutMs": 10_000, "memoryMb": 64})},
	}
}
