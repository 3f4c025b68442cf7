package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The test program is the process that runs code as well.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		if act, ok := children[os.Args[1]]; ok {
			os.Exit(act())
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		sandbox.RemoveProgram()
		os.Exit(code)
	}))
}

// children are what the test program does when it is started with one of these arguments.
var children = map[string]func() int{
	"serve": sandbox.Serve, "exit": func() int { return 3 }, "try": sandbox.TryConfined,
	"hoard": sandbox.ServeHoarding, "silent": sandbox.ServeSilently, "garbage": sandbox.ServeGarbage, "endless": sandbox.ServeEndlessly,
}

func open(t testing.TB, child string, processes int64) *sandbox.Sandbox {
	t.Helper()
	s := sandbox.New(sandbox.Options{Command: []string{sandbox.Program(t), child}, Processes: budget.NewShared(processes, processes)})
	t.Cleanup(s.Close)
	return s
}

func call(source string, values map[string]any) outbound.CodeCall {
	return outbound.CodeCall{
		Tenant: "ten_a", Source: source, Values: values, Now: time.UnixMilli(1_800_000_000_123), Seed: "run_1:node",
		Timeout: 5 * time.Second, Memory: 32 << 20,
	}
}

// shown is an outcome as a test writes it: the output, or the code and the message of a
// failure, and then the log.
func shown(o outbound.CodeOutcome) string {
	text := string(o.Output)
	if o.Failure != nil {
		text += o.Failure.Code + ": " + o.Failure.Message
	}
	return strings.Join(append([]string{text}, o.Log...), " | ")
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 2)
	values := map[string]any{
		"input": map[string]any{"n": 20.5, "list": []any{1.0, "two", nil, true}}, "payload": json.RawMessage(`{"big": 9007199254740993, "text": "é\u0000\ud83d\ude00"}`),
		"nodes": map[string]any{"a-b": map[string]any{"x": 1.0}}, "run": map[string]any{"id": "run_1"},
	}
	for name, c := range map[string]struct{ source, want string }{
		"a value is the output":                    {"return { a: 1, b: [input.n * 2] }", `{"a":1,"b":[41]}`},
		"it sees what it was given":                {"return [input.list, payload.text, nodes['a-b'].x, run.id, typeof item, typeof index]", "[[1,\"two\",null,true],\"é\\u0000😀\",1,\"run_1\",\"undefined\",\"undefined\"]"},
		"no value is null":                         {"input.n = 3", "null"},
		"a promise is awaited":                     {"return (async () => { await null; return [await Promise.resolve(2)] })()", "[2]"},
		"what is rejected is thrown":               {"return Promise.reject(new RangeError('far'))", "code_failed: line 1, column 37: RangeError: far"},
		"a promise that nobody keeps is a failure": {"return new Promise(() => {})", "code_failed: TypeError: The promise that was returned never settles."},
		"a function is no value":                   {"return () => 1", "code_failed: TypeError: What was returned is a function, and no JSON value."},
		"a BigInt is no value":                     {"return 1n", "code_failed: TypeError: Do not know how to serialize a BigInt"},
		"the time is the call's":                   {"return [now(), new Date().getTime(), new Date(5).getTime(), new Date(2026, 0, 1).toISOString(), typeof Date.now, Date() === new Date().toString(), new Date() instanceof Date, new Date().constructor === Date]", `[1800000000123,1800000000123,5,"2026-01-01T00:00:00.000Z","undefined",true,true,true]`},
		"there is nothing of the outside":          {"return [typeof require, typeof process, typeof setTimeout, typeof fetch, typeof std, typeof os, typeof print, typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef, typeof performance, typeof log, typeof this]", `["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
		"modules cannot be had":                    {"return import('std')", "code_failed: ReferenceError: could not load module 'std'"},
		"an error says where it was made":          {"const a = 1;\n  input.nothing.more;\nreturn a", "code_failed: line 2, column 16: TypeError: cannot read property 'more' of undefined"},
		"also within a function of its own":        {"function f(x) {\n  throw new Error('no ' + x);\n}\nreturn f(1)", "code_failed: line 2, column 18: Error: no 1"},
		"a source that does not compile says so":   {"let x = ;", "code_failed: line 1, column 9: SyntaxError: unexpected token in expression: ';'"},
		"what is thrown may be anything":           {"throw 'plain'", "code_failed: plain"},
		"what is thrown may be null":               {"throw null", "code_failed: null was thrown"},
		"also the text null":                       {"throw 'null'", "code_failed: null"},
		"nothing":                                  {"throw undefined", "code_failed: undefined was thrown"},
		"an empty text":                            {"throw ''", "code_failed: \"\""},
		"null with much garbage":                   {"const a = []; for (let i = 0; i < 1e5; i++) a.push({ i }); throw null", "code_failed: null was thrown"},
		"null that is rejected":                    {"return Promise.reject(null)", "code_failed: null was thrown"},
		"null from an async function":              {"return (async () => { await 1; throw null })()", "code_failed: null was thrown"},
		"null from what is returned":               {"return { get a() { throw null } }", "code_failed: null was thrown"},
		"an object that is thrown is shown":        {"throw { a: 1 }", "code_failed: {\"a\":1}"},
		"unless it has a message":                  {"throw { message: 'far', code: 5 }", "code_failed: far"},
		"perhaps with a name":                      {"throw { name: 'Range', message: 'far' }", "code_failed: Range: far"},
		"an object that cannot be shown":           {"const a = {}; a.a = a; throw a", "code_failed: ?"},
		"a comment may be its end":                 {"return 1 // one", "1"},
		"the log has what it wrote":                {"console.log('a', 1, {b: [2]}, null, undefined); console.error(new TypeError('x')); console.warn(Symbol('s')); return 1", "1 | a 1 {\"b\":[2]} null undefined | TypeError: x | Symbol(s)"},
		"also where it failed":                     {"console.info('before'); throw new Error('x')", "code_failed: line 1, column 40: Error: x | before"},
		"its mode is strict":                       {"undeclared = 1", "code_failed: line 1, column 1: ReferenceError: 'undeclared' is not defined"},
		"ES2023 is there":                          {"return [[3, 1, 2].toSorted(), [1, 2].at(-1), [1, 2, 3].findLast(x => x < 3), Object.groupBy ? 1 : 0, 'a-b'.replaceAll('-', '+'), /(?<y>\\d+)/.exec('in 2026').groups.y]", `[[1,2,3],2,2,1,"a+b","2026"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := s.Run(t.Context(), call(c.source, values))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunIsTheSameOnEveryReplay(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	ask := call("return [now(), ...Array.from({ length: 5 }, Math.random), Object.keys(globalThis)]", nil)
	first, err := s.Run(t.Context(), ask)
	if err != nil || first.Failure != nil {
		t.Fatal(err, first.Failure)
	}
	for range 3 {
		if again, err := s.Run(t.Context(), ask); err != nil || string(again.Output) != string(first.Output) {
			t.Errorf("first %s, then %s, %v", first.Output, again.Output, err)
		}
	}
	ask.Seed = "run_2:node"
	if other, err := s.Run(t.Context(), ask); err != nil || string(other.Output) == string(first.Output) {
		t.Errorf("another run has the same chance: %s, %v", other.Output, err)
	}
}

// hostile is code that tries something, and what becomes of it. Each ends within its limits,
// and the process goes on with the next.
var hostile = map[string]struct{ source, want string }{
	"an endless loop":                      {"for (;;);", "code_timeout"},
	"that catches everything":              {"for (;;) { try { for (;;); } catch { } finally { continue } }", "code_timeout"},
	"an endless generator":                 {"function* g() { let i = 0; for (;;) yield i++ } let n = 0; for (const x of g()) n += x; return n", "code_timeout"},
	"promises without end":                 {"const again = () => Promise.resolve().then(again); return again()", "code_timeout|code_failed|code_out_of_memory"},
	"an async loop":                        {"return (async () => { for (;;) await null })()", "code_timeout|code_failed"},
	"memory in an array":                   {"const a = []; for (;;) a.push({ a: [a.length] })", "code_out_of_memory"},
	"memory in a string":                   {"let s = 'x'; for (;;) s += s", "code_out_of_memory|code_failed"},
	"a huge string":                        {"return 'x'.repeat(2 ** 29)", "code_out_of_memory"},
	"a huge array":                         {"return new Array(1e8).fill(1)", "code_out_of_memory"},
	"a huge buffer":                        {"return new ArrayBuffer(2 ** 31).byteLength", "code_out_of_memory|code_failed"},
	"a sparse array":                       {"const a = []; a[4294967294] = 1; return a", "code_timeout|code_out_of_memory"},
	"memory in what it catches":            {"const a = []; for (;;) { try { for (;;) a.push('x'.repeat(1000) + a.length) } catch { } }", "code_timeout|code_out_of_memory"},
	"a large output":                       {"return 'x'.repeat(2 ** 20)", "output_too_large"},
	"recursion":                            {"const f = (n) => f(n + 1) + 1; return f(0)", "code_failed"},
	"recursion that catches":               {"const f = () => { try { return f() } catch { return f() } }; return f()", "code_timeout|code_failed"},
	"recursion in JSON":                    {"let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return JSON.stringify(a).length", "code_failed|code_out_of_memory"},
	"recursion in a regular expression":    {"return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('a')", "code_failed|code_out_of_memory"},
	"recursion in the parser":              {"return eval('['.repeat(1e5) + ']'.repeat(1e5))", "code_failed|code_out_of_memory"},
	"recursion of proxies":                 {"let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x", "code_failed|code_out_of_memory|ok"},
	"a proxy around itself":                {"const p = new Proxy({}, {}); Object.setPrototypeOf(p, p); return p.x", "code_failed"},
	"a catastrophic regular expression":    {"return /^(a+)+$/.test('a'.repeat(50) + 'b')", "code_timeout"},
	"one with back references":             {"return /^(.*?)*\\1*\\1*\\1*$/.test('ab'.repeat(5000) + 'c')", "code_timeout|ok|code_failed|code_out_of_memory"},
	"a replacement that grows":             {"let s = 'aaaaaaaaaa'; for (let i = 0; i < 50; i++) s = s.replace(/a/g, '$&$&'); return s.length", "code_out_of_memory|code_timeout|code_failed"},
	"a sort that never agrees":             {"const a = Array.from({ length: 1e5 }, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)", "code_timeout"},
	"large numbers":                        {"let n = 3n; for (;;) n *= n", "code_timeout|code_out_of_memory|code_failed"},
	"toJSON that never ends":               {"return { toJSON() { for (;;); } }", "code_timeout"},
	"toJSON of every object":               {"Object.prototype.toJSON = function () { return 'mine' }; return {}", "ok"},
	"a getter that never ends":             {"return { get a() { for (;;); } }", "code_timeout"},
	"toString of an error that never ends": {"throw { toString() { for (;;); } }", "code_timeout|code_failed"},
	"an error whose members throw":         {"throw new Proxy(new Error('x'), { get() { throw 1 } })", "code_failed"},
	"an error with a stack of its own":     {"const e = new Error('x'); e.stack = '<eval>:99999999999:1 <eval>:7:7'; throw e", "code_failed"},
	"an error that says it is another":     {"throw Object.assign(new InternalError('interrupted'))", "code_failed"},
	"an endless then":                      {"return { then() { for (;;); } }", "ok|code_timeout"},
	"a promise with a then of its own":     {"const p = Promise.resolve(1); p.then = () => { for (;;); }; return p", "ok"},
	"a promise of another kind":            {"class P extends Promise { static get [Symbol.species]() { for (;;); } } return P.resolve(1)", "code_timeout"},
	"changing what everything is built of": {"for (const p of [Object, Array, Function, String, Promise, JSON, Reflect]) for (const k of Object.getOwnPropertyNames(p.prototype ?? p)) { try { (p.prototype ?? p)[k] = () => { throw 'mine' } } catch { } } console.log('x'); return [1]", "ok|code_failed"},
	"deleting everything":                  {"for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k] } catch { } } return 1", "ok|code_failed"},
	"freezing everything":                  {"Object.freeze(globalThis); Object.freeze(Object.prototype); return 1", "ok"},
	"setters on lists":                     {"Object.defineProperty(Array.prototype, 0, { set() { for (;;); } }); console.log('a'); return []", "ok|code_timeout"},
	"the function around it":               {"return arguments.callee.caller", "code_failed"},
	"code made of text":                    {"return Function('return this')() === globalThis && eval('1+1') === 2", "ok"},
	"endless code made of text":            {"return Function('for(;;);')()", "code_timeout"},
	"more code behind itself":              {"return 1 }), (function () { for (;;);", "ok|code_failed|code_timeout"},
	"what the gateway's process has":       {"return [typeof globalThis.process, typeof globalThis.Deno, typeof globalThis.scriptArgs, typeof globalThis.quickjs]", "ok"},
	"a flood of the console":               {"for (;;) console.log('x'.repeat(1e5))", "code_timeout"},
	"a line that is an avalanche":          {"console.log(...Array.from({ length: 1e4 }, () => 'x'.repeat(1000)))", "ok|code_timeout|code_out_of_memory|code_failed"},
	"a log of what throws":                 {"console.log({ toJSON() { throw 1 }, toString() { throw 2 } }, Object.create(null)); return 1", "ok"},
	"waiting for other threads":            {"return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "code_failed"},
	"weak references":                      {"return new WeakRef({})", "code_failed"},
	"a resizable buffer":                   {"const b = new ArrayBuffer(1, { maxByteLength: 2 ** 30 }); b.resize(2 ** 30); return b.byteLength", "code_out_of_memory|code_failed"},
	"a detached buffer":                    {"const b = new ArrayBuffer(8), v = new Uint8Array(b); b.transfer(); v.sort(() => 0); return v[0]", "ok|code_failed"},
	"a list that shrinks while sorted":     {"const a = Array.from({ length: 1000 }, (_, i) => i); a.sort(() => { a.length = 0; return 1 }); return a.length", "ok"},
	"a length that is a trap":              {"return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1)", "code_timeout|code_out_of_memory"},
	"dates beyond all":                     {"return new Date(8.64e15 + 1).toISOString()", "code_failed"},
	"a label to nowhere":                   {"break nowhere", "code_failed"},
	"what is only half a character":        {"return ['\\ud800', { '\\udfff': 1 }]", "ok"},
}

func TestHostileCode(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 2)
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := call(c.source, nil)
			ask.Timeout, ask.Memory = 300*time.Millisecond, 16<<20
			if !strings.Contains(c.want, "code_timeout") {
				ask.Timeout = time.Minute
			}
			o, err := s.Run(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			got := "ok"
			if o.Failure != nil {
				got = o.Failure.Code
			}
			if !strings.Contains("|"+c.want+"|", "|"+got+"|") {
				t.Errorf("got %.500s", shown(o))
			}
			if len(o.Log) > run.MaxLogLines || len(strings.Join(o.Log, "")) > run.MaxLogBytes+len("…") {
				t.Errorf("the log has %d lines", len(o.Log))
			}
		})
	}
}

func TestNothingIsLeftForTheNextRun(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	ask := call("globalThis.left = 'secret'; Object.prototype.left = 'secret'; Array.prototype.push = () => 'secret'; return typeof left", nil)
	if o, err := s.Run(t.Context(), ask); err != nil || shown(o) != `"string"` {
		t.Fatal(err, shown(o))
	}
	for _, owner := range []tenant.ID{"ten_b", "ten_a"} {
		ask = call("return [typeof left, ({}).left, [].push(1)]", nil)
		ask.Tenant = owner
		if o, err := s.Run(t.Context(), ask); err != nil || shown(o) != `["undefined",null,1]` {
			t.Error(owner, err, shown(o))
		}
	}
}

const unexpectedEnd = "SyntaxError: unexpected end: something in the source is not closed, or closes the function that it is the body of"

func TestCompile(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	for name, c := range map[string]struct{ source, want string }{
		"a body that returns":           {"const a = 1\nreturn a", ""},
		"an empty one":                  {"", ""},
		"a comment at its end":          {"return 1 // one", ""},
		"what runs for ever":            {"for (;;);", ""},
		"a mistake":                     {"const a = 1\nreturn a + ;", "line 2, column 12: SyntaxError: unexpected token in expression: ';'"},
		"an end too early":              {"const a = 1\nreturn a +", "line 2, column 11: " + unexpectedEnd},
		"a body that ends too early":    {"return 1\n}", "line 2, column 2: " + unexpectedEnd},
		"what is not closed":            {"if (true) {", "line 1, column 12: " + unexpectedEnd},
		"also behind a line feed":       {"if ('é') {\n", "line 2, column 1: " + unexpectedEnd},
		"a mistake on its first line":   {"return )", "line 1, column 8: SyntaxError: unexpected token in expression: ')'"},
		"what is not strict":            {"with (input) return a", "line 1, column 1: SyntaxError: invalid keyword: with"},
		"an end, and another function":  {"return 1 }), (function () {", "line 1, column 11: SyntaxError: invalid property name"},
		"an end, and another member":    {"return 1 } more() {", "line 1, column 12: SyntaxError: expecting ')'"},
		"await, without async":          {"return await 1", "line 1, column 14: SyntaxError: expecting ';'"},
		"more than the parser can take": {"return " + strings.Repeat("[", 1e5), "line 1, column 1670: SyntaxError: stack overflow"},
	} {
		t.Run(name, func(t *testing.T) {
			problem, at, err := s.Compile(t.Context(), "ten_a", c.source)
			if err != nil {
				t.Fatal(err)
			}
			if named := problem == "" || strings.HasPrefix(problem, at.String()+": "); !named {
				t.Errorf("at %s: %s", at, problem)
			}
			if diff := cmp.Diff(c.want, problem); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValuesThatCodeHasNoMemoryFor(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	ask := call("return 1", map[string]any{"input": strings.Repeat("x", 1<<20)})
	ask.Memory = 2 << 20
	if o, err := s.Run(t.Context(), ask); err != nil || o.Failure == nil || o.Failure.Code != "code_out_of_memory" {
		t.Error(err, shown(o))
	}
	ask.Memory = 32 << 20
	if o, err := s.Run(t.Context(), ask); err != nil || shown(o) != "1" {
		t.Error(err, shown(o))
	}
}

// What HTML escapes counts as what it is, in what code is given as in what it gives.
func TestHTMLIsNoLongerThanItIs(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	html := strings.Repeat("<&>\u2028", 160_000) // of 6 bytes
	ask := call("return input + '</p>'", map[string]any{"input": html})
	ask.Memory = 12 << 20
	if o, err := s.Run(t.Context(), ask); err != nil || string(o.Output) != `"`+html+`</p>"` {
		t.Errorf("as an output: %v, %.200s", err, shown(o))
	}
	ask.Source, ask.Memory = "console.log('<b>'); throw '</b>'", 32<<20
	if o, err := s.Run(t.Context(), ask); err != nil || shown(o) != "code_failed: </b> | <b>" {
		t.Errorf("in a failure: %v, %.200s", err, shown(o))
	}
}

func TestRoomIsTakenForALargeOutput(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	ask := call("return 'x'.repeat(500000)", nil)
	asked := int64(0)
	ask.ReserveMemory = func(_ context.Context, size int64) error { asked = size; return nil }
	if o, err := s.Run(t.Context(), ask); err != nil || len(o.Output) != 500002 || asked < 500000 {
		t.Error(err, len(o.Output), asked)
	}
	refusal := errors.New("nobody wants it")
	ask.ReserveMemory = func(context.Context, int64) error { return refusal }
	if o, err := s.Run(t.Context(), ask); err == nil && o.Failure == nil {
		t.Errorf("%d bytes were read without room", len(o.Output))
	}
}

func TestCancelledCodeEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	if _, err := s.Run(t.Context(), call("return 1", nil)); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("the gateway is stopping")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(stopped) })
	ask := call("for (;;);", nil)
	ask.Timeout = time.Hour
	if _, err := s.Run(ctx, ask); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Run(ctx, ask); !errors.Is(err, stopped) {
		t.Errorf("before it begins: %v", err)
	}
	if o, err := s.Run(t.Context(), call("return 2", nil)); err != nil || shown(o) != "2" {
		t.Errorf("the next one: %v, %s", err, shown(o))
	}
}

func TestAProcessThatGoesWrongIsReplaced(t *testing.T) {
	t.Parallel()
	for child, want := range map[string]string{
		"hoard": "code_out_of_memory", "silent": "code_timeout", "garbage": "code_crashed", "endless": "code_crashed",
	} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			s := open(t, child, 1)
			for range 2 {
				ask := call("return 1", nil)
				ask.Timeout = 50 * time.Millisecond
				if child != "silent" {
					ask.Timeout = time.Minute
				}
				o, err := s.Run(t.Context(), ask)
				if err != nil || o.Failure == nil || o.Failure.Code != want || o.Failure.Retryable != (want == "code_crashed") {
					t.Fatal(err, shown(o))
				}
			}
			problem, _, err := s.Compile(t.Context(), "ten_a", "return 1")
			if of := want == "code_out_of_memory"; of != (problem != "") || of == errors.Is(err, domain.Unavailable) {
				t.Errorf("a source that compiles: %v, %q", err, problem)
			}
		})
	}
}

func TestAnIdleProcessThatWasKilledIsReplaced(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	for range 3 {
		if o, err := s.Run(t.Context(), call("return 1", nil)); err != nil || shown(o) != "1" {
			t.Fatal(err, shown(o))
		}
		killIdle(t, s)
		if problem, _, err := s.Compile(t.Context(), "ten_a", "return 1"); err != nil || problem != "" {
			t.Fatal(err, problem)
		}
		killIdle(t, s)
	}
}

func killIdle(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	idle := s.IdleProcesses()
	if len(idle) != 1 {
		t.Fatalf("%d processes are idle", len(idle))
	}
	if err := idle[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := idle[0].Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestProcessesThatAreKilledWhileTheyWork(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	for range 10 {
		if o, err := s.Run(t.Context(), call("return 1", nil)); err != nil || shown(o) != "1" {
			t.Fatal(err, shown(o))
		}
		idle := s.IdleProcesses()
		if len(idle) != 1 {
			t.Fatalf("%d processes are idle", len(idle))
		}
		time.AfterFunc(5*time.Millisecond, func() { _ = idle[0].Kill() })
		ask := call("for (;;);", nil)
		ask.Timeout = time.Minute
		o, err := s.Run(t.Context(), ask)
		if err != nil || o.Failure == nil || o.Failure.Code != "code_crashed" || !o.Failure.Retryable {
			t.Fatal(err, shown(o))
		}
	}
}

func TestAProcessThatDoesNotServe(t *testing.T) {
	t.Parallel()
	s := open(t, "exit", 1)
	_, err := s.Run(t.Context(), call("return 1", nil))
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Unavailable || e.Code != "code_unavailable" || e.RetryAfter != time.Second {
		t.Errorf("got %v", err)
	}
}

func TestAClosedSandbox(t *testing.T) {
	t.Parallel()
	s := open(t, "serve", 1)
	if _, err := s.Run(t.Context(), call("return 1", nil)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := s.Run(t.Context(), call("return 1", nil)); !errors.Is(err, domain.Unavailable) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	s := open(b, "serve", 1)
	values := map[string]any{"input": map[string]any{"items": []any{map[string]any{"price": 3.0, "n": 2.0}, map[string]any{"price": 5.0, "n": 1.0}}}}
	ask := call("let sum = 0; for (const i of input.items) sum += i.price * i.n; return { sum }", values)
	for b.Loop() {
		if o, err := s.Run(b.Context(), ask); err != nil || string(o.Output) != `{"sum":11}` {
			b.Fatal(err, shown(o))
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s := open(b, "serve", 1)
		if o, err := s.Run(b.Context(), call("return 1", nil)); err != nil || o.Failure != nil {
			b.Fatal(err, shown(o))
		}
		s.Close()
	}
}
