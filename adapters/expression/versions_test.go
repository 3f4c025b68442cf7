package expression

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// programs composes versions whose texts look at what flows there, rightly or not. No text is
// like another.
type programs struct {
	t     *testing.T
	draw  *rand.Rand
	name  string
	kinds []string // of nodes, besides those that there always are
	input any      // of a call; nil for any
	plain bool     // hardly a text fails, so that runs come far
	nodes []workflow.NodeDraft
	edges []workflow.EdgeDraft
	texts []written
	leads [][]int // by place of a node, those that lead to it
}

// written is a text of a version.
type written struct {
	place int // of its node, or of its edge
	edge  bool
	field string
	text  string
}

const payloadSchema = `{
	"amount": {"type": "number", "required": true}, "name": {"type": "string"}, "tags": {"type": "array", "required": true, "items": {"type": "string"}},
	"more": {"type": "object", "required": true, "additionalProperties": false, "properties": {"a": {"type": "number", "required": true}, "b": {"type": "any"}}}
}`

func payloads(t testing.TB) []node.Schema {
	t.Helper()
	var r domain.Rules
	schema := node.ParseSchema(&r, "", node.ReadDeclarations(&r, "", []byte(payloadSchema)))
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		t.Fatal(err)
	}
	return []node.Schema{schema}
}

// graph is that of the version.
func (p *programs) graph() workflow.Graph {
	ids := 0
	ver, err := workflow.NewVersion("wfv_1", workflow.Restore(workflow.State{ID: "wf_1"}), 1, workflow.VersionDraft{Nodes: p.nodes, Edges: p.edges}, func() workflow.EdgeID {
		ids++
		return workflow.EdgeID(fmt.Sprint("edge_", ids))
	}, time.Time{})
	if err != nil {
		p.t.Fatal(err)
	}
	return ver.Graph()
}

func (p *programs) one(n int) int { return p.draw.IntN(n) }

func (p *programs) pick(options ...string) string { return options[p.one(len(options))] }

// fill adds nodes of one body, which lead to one another, and what is in their bodies.
func (p *programs) fill(parent workflow.NodeID, outer []string, size int) {
	var siblings []int
	for range size {
		place := len(p.nodes)
		id := fmt.Sprint("n", place)
		kind := p.pick(append([]string{"transform", "transform", "transform", "condition", "forEach", "return"}, p.kinds...)...)
		if kind == "forEach" && len(outer) > 0 {
			kind = "transform"
		}
		p.nodes = append(p.nodes, workflow.NodeDraft{ID: workflow.NodeID(id), Parent: parent, Type: kind, Version: "1.0.0", Name: id})
		p.leads = append(p.leads, nil)
		for range min(len(siblings), 1+p.one(2)) {
			p.lead(siblings[p.one(len(siblings))], place, outer)
		}
		text, err := json.Marshal(p.config(kind, place, p.roots(place, outer)))
		if err != nil {
			p.t.Fatal(err)
		}
		p.nodes[place].Config = domain.RestoreDocument(string(text))
		siblings = append(siblings, place)
		if kind == "forEach" {
			p.fill(workflow.NodeID(id), p.roots(place, outer)[2:], 1+p.one(3))
		}
	}
}

// roots are what expressions of a node can begin with: input and payload first, then what outer
// nodes gave, and those that lead to it.
func (p *programs) roots(place int, outer []string) []string {
	roots := append([]string{"input", "payload"}, outer...)
	for _, i := range p.leads[place] {
		roots = append(roots, "nodes."+string(p.nodes[i].ID))
	}
	if p.nodes[place].Parent != "" {
		roots = append(roots, "item", "index")
	}
	return roots
}

// lead adds an edge.
func (p *programs) lead(from, to int, outer []string) {
	e := workflow.EdgeDraft{SourceNodeID: p.nodes[from].ID, TargetNodeID: p.nodes[to].ID}
	for _, other := range p.edges {
		if other.SourceNodeID == e.SourceNodeID && other.TargetNodeID == e.TargetNodeID {
			return
		}
	}
	key := p.pick("", "", "onError", "a")
	if p.nodes[from].Type == "condition" {
		key = p.pick("true", "false", "")
	}
	e.SourceOutputKey = &key
	into := p.pick("", "", "", "b")
	e.TargetInputKey = &into
	if p.one(4) == 0 {
		condition := p.text(len(p.edges), true, "condition", append(p.roots(from, outer), "result", "nodes."+string(e.SourceNodeID)))
		e.Condition = &condition
	}
	p.edges = append(p.edges, e)
	p.leads[to] = append(append(p.leads[to], p.leads[from]...), from)
	slices.Sort(p.leads[to])
	p.leads[to] = slices.Compact(p.leads[to])
}

func (p *programs) config(kind string, place int, roots []string) map[string]any {
	text := func(field string, more ...string) string {
		return p.text(place, false, "config."+field, append(roots[:len(roots):len(roots)], more...))
	}
	switch kind {
	case "condition":
		return map[string]any{"condition": text("condition")}
	case "forEach":
		return map[string]any{"items": text("items"), "onItemError": p.pick("fail", "continue")}
	case "return":
		return map[string]any{"value": map[string]any{"a": "{{ " + text("value.a") + " }}", "b": 5}}
	case "callWorkflow":
		return map[string]any{"workflowId": "wf_2", "wait": p.one(4) > 0, "input": p.inputOf(text)}
	case "httpRequest":
		return map[string]any{"url": "https://example.com", "body": map[string]any{"x": "{{ " + text("body.x") + " }}"}}
	}
	form := p.one(4)
	if p.plain {
		form = 3
	}
	switch form {
	case 0:
		return map[string]any{"transformType": "map", "source": text("source"), "expression": text("expression", "item", "index")}
	case 1:
		return map[string]any{"transformType": p.pick("filter", "reduce"), "source": text("source"), "expression": text("expression", "item")}
	case 2:
		return map[string]any{"transformType": "expression", "mapping": map[string]any{"a": text("mapping.a"), "b": text("mapping.b")}}
	}
	return map[string]any{"transformType": "expression", "expression": text("expression")}
}

// inputOf is what a node calls with.
func (p *programs) inputOf(text func(string, ...string) string) any {
	if p.input != nil {
		return p.input
	}
	return map[string]any{"a": "{{ " + text("input.a") + " }}"}
}

// text composes an expression over roots, and notes where it stands.
func (p *programs) text(place int, edge bool, field string, roots []string) string {
	text := p.expression(roots, 3) + fmt.Sprintf(" /* %s%d */", p.name, len(p.texts))
	p.texts = append(p.texts, written{place, edge, field, text})
	return text
}

func (p *programs) expression(roots []string, depth int) string {
	if depth == 0 {
		return p.pick("1", `"x"`, "[1, 2]", "null", "payload.amount", "payload.tags")
	}
	if p.plain {
		return p.pick("1", `"x"`, "{ a: 1 }", "{ b: 'y' }", "payload.tags", "input", "payload.amount > 0", "payload.amount < 1", "payload.name !== undefined", "null", "input.a.b.a.b")
	}
	next := func() string { return p.expression(roots, depth-1) }
	switch p.one(10) {
	case 0, 1, 2:
		return p.path(roots)
	case 3:
		return "{ a: " + next() + ", b: " + next() + " }"
	case 4:
		return "(" + next() + " + " + next() + ")"
	case 5:
		return p.path(roots) + p.pick(".trim()", ".toFixed(1)", ".map(x => x.a)", ".length", ".slice(1)", "?.trim?.()", ".a.b", "?.a")
	case 6:
		return "(" + next() + p.pick(" ? ", " === 1 ? ", " !== undefined ? ") + next() + " : " + next() + ")"
	case 7:
		return "(" + next() + p.pick(" ?? ", " || ", " && ") + next() + ")"
	case 8:
		return "[" + next() + ", " + next() + "]"
	}
	return p.pick("Math.max(...", "Object.keys(", "String(", "[...") + next() + p.pick(")", ")")
}

// path is a root with members.
func (p *programs) path(roots []string) string {
	text := p.pick(roots...)
	for range p.one(3) {
		text += p.pick(".a", ".b", ".amount", ".name", ".tags", ".more", ".results", ".error", "[0]", "?.a", ".body")
	}
	return text
}

// recorder notes what is known of each text that is read.
type recorder struct {
	Checker
	read map[string]workflow.Checked
}

func (r recorder) Check(s workflow.Source) workflow.Checked {
	checked := r.Checker.Check(s)
	r.read[s.Text] = checked
	return checked
}

// TestWritingATextTellsWhatPublishingFinds: for the one text no more is looked at than leads
// there, and that tells as much.
func TestWritingATextTellsWhatPublishingFinds(t *testing.T) {
	env := workflow.Environment{Registry: node.RegistryFor("tenant_1", tenant.English, nil, nil), Payload: workflow.PayloadType(payloads(t))}
	told := map[string]int{}
	for seed := range uint64(200) {
		p := &programs{t: t, draw: rand.New(rand.NewPCG(seed, 0)), kinds: []string{"httpRequest"}}
		p.fill("", nil, 1+p.one(7))
		g := p.graph()
		published := recorder{read: map[string]workflow.Checked{}}
		env := env
		env.Expressions = published
		workflow.Check(g, env)
		env.Expressions = Checker{}
		for range 3 {
			w := p.texts[p.one(len(p.texts))]
			text := w.text
			if !w.edge && strings.Contains(p.nodes[w.place].Config.String(), "{{ ") {
				text = "{{ " + text + " }}"
			}
			want, read := published.read[text]
			if !read {
				t.Fatalf("%s of %d is not read: %s", w.field, w.place, text)
			}
			call := workflow.CompletionCall{Field: w.field, Text: text}
			if w.edge {
				call.Edge = g.Edges()[w.place].ID
			} else {
				call.Node = p.nodes[w.place].ID
			}
			found, err := workflow.Complete(g, env, call)
			if err != nil {
				t.Fatalf("%+v: %v", call, err)
			}
			if found.Checked.Type.String() != want.Type.String() || found.Checked.Problem != want.Problem || len(found.Checked.Doubts) != len(want.Doubts) {
				t.Fatalf("%+v\nis %s %s %v when it is written, and %s %s %v when it is published", call,
					found.Checked.Type, found.Checked.Problem, found.Checked.Doubts, want.Type, want.Problem, want.Doubts)
			}
			if want.Problem == "" {
				told[want.Type.String()]++
			}
		}
	}
	if len(told) < 20 {
		t.Errorf("only %d types were told: %v", len(told), told)
	}
}

// evaluations notes what comes of each text by itself.
type evaluations struct {
	Compiler
	values map[string][]any
	errors map[string][]error
}

type evaluation struct {
	run.Expression
	text string
	of   evaluations
}

// textOf is the only text in a source, by which it ends; empty where there are several, and in what is
// computed for each element.
func textOf(source string) string {
	before, after, found := strings.Cut(source, "/* ")
	if !found || strings.Contains(after, "/* ") || strings.HasPrefix(before, "items.") {
		return ""
	}
	name, _, _ := strings.Cut(after, " */")
	return name
}

func (e evaluations) Compile(source string, roots ...string) (run.Expression, error) {
	x, err := e.Compiler.Compile(source, roots...)
	if text := textOf(source); err == nil && text != "" {
		return evaluation{x, text, e}, nil
	}
	return x, err
}

func (e evaluation) Evaluate(env run.Env) (any, error) {
	v, err := e.Expression.Evaluate(env)
	if err != nil {
		e.of.errors[e.text] = append(e.of.errors[e.text], err)
	} else {
		e.of.values[e.text] = append(e.of.values[e.text], v)
	}
	return v, err
}

// misfit says why a value is not of a type; empty where it is. What is not there is null or
// undefined, and a number that JSON has none of, such as NaN, is null.
func misfit(v any, of typing.Type) string {
	if of.IsAny() {
		return ""
	}
	if n, isNumber := v.(json.Number); isNumber {
		v, _ = n.Float64()
	}
	kind := typing.Object
	switch v := v.(type) {
	case nil:
		kind = typing.Nullish | typing.Number
	case bool:
		kind = typing.Boolean
	case float64:
		kind = typing.Number
	case string:
		kind = typing.String
	case []any:
		kind = typing.Array
		for _, item := range v {
			if of.Kinds()&typing.Array != 0 {
				if reason := misfit(item, of.Items()); reason != "" {
					return "[]" + reason
				}
			}
		}
	case map[string]any:
		for name, member := range v {
			known, rest := of.Member(name)
			if rest != typing.Open {
				return "." + name + " is there"
			}
			if reason := misfit(member, known); reason != "" {
				return "." + name + reason
			}
		}
		for _, name := range of.MemberNames() {
			if known, _ := of.Member(name); v[name] == nil && misfit(nil, known) != "" {
				return "." + name + " is missing"
			}
		}
	}
	if of.Kinds()&kind == 0 {
		return fmt.Sprintf(" is %v", v)
	}
	if values, listed := of.Values(); listed && v != nil && !slices.Contains(values, v) {
		return fmt.Sprintf(" is %v", v)
	}
	return ""
}

// isEager says whether all of a text is evaluated whenever it is.
func isEager(text string) bool { return !strings.ContainsAny(text, "?&|>") }

// TestRunsGiveWhatIsSaidOfThem runs versions that call others: what each text gives is of the type
// that was found when the version was checked, and what was called an error fails.
func TestRunsGiveWhatIsSaidOfThem(t *testing.T) {
	registry := node.RegistryFor("tenant_1", tenant.English, nil, nil)
	schemas := payloads(t)
	given, results := map[string]int{}, map[string]int{}
	for seed := range uint64(1000) {
		draw := rand.New(rand.NewPCG(seed, 1))
		published, ran := recorder{read: map[string]workflow.Checked{}}, evaluations{values: map[string][]any{}, errors: map[string][]error{}}
		callee := &programs{t: t, draw: draw, name: "b", plain: seed%2 == 0}
		caller := &programs{t: t, draw: draw, name: "a", kinds: []string{"callWorkflow", "callWorkflow"}}
		called := workflow.Callee{}
		if draw.IntN(2) == 0 {
			called.Payloads = schemas
			caller.input = json.RawMessage(`{"amount": "{{ payload.amount }}", "tags": ["{{ String(input) }}"], "more": {"a": 1, "b": "{{ input }}"}}`)
		}
		callee.fill("", nil, 1+draw.IntN(7))
		called.Graph = callee.graph()
		if callee.plain {
			caller.nodes = []workflow.NodeDraft{
				{ID: "call", Type: "callWorkflow", Version: "1.0.0", Config: domain.RestoreDocument(`{"workflowId": "wf_2"}`)},
				{ID: "look", Type: "transform", Version: "1.0.0", Config: domain.RestoreDocument(`{"expression": "input /* a0 */"}`)},
			}
			caller.edges = []workflow.EdgeDraft{{SourceNodeID: "call", TargetNodeID: "look"}}
		} else {
			caller.fill("", nil, 1+draw.IntN(7))
		}
		g := caller.graph()
		env := workflow.Environment{Registry: registry, Expressions: published, Payload: workflow.PayloadType(schemas), Called: map[workflow.ID]workflow.Callee{"wf_2": called}}
		workflow.Check(g, env)
		env.Payload = workflow.PayloadType(called.Payloads)
		workflow.Check(called.Graph, env)

		payload := caller.pick(
			`{"amount": 7, "tags": ["a", "b"], "more": {"a": 1}}`, `{"amount": -1, "tags": [], "name": "x", "more": {"a": 0, "b": [1]}, "results": 5}`, `{"amount": 0.5, "name": "", "tags": [""], "more": {"a": 2, "b": {"a": null}}}`,
		)
		plans := map[workflow.ID]*run.Plan{"wf_2": run.NewPlan("wfv_2", called.Graph, registry, ran)}
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		_, err := run.Simulate(run.NewPlan("wfv_1", g, registry, ran), "run_1", run.Start{Workflow: "wf_1", Version: "wfv_1", Payload: json.RawMessage(payload)}, at, run.Outside{
			Called: plans, Body: func(of *run.Plan, loop workflow.NodeID) *run.Plan { return of.Body(loop, registry, ran) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for text, checked := range published.read {
			name := textOf(text)
			for _, v := range ran.values[name] {
				if reason := misfit(v, checked.Type); reason != "" {
					t.Fatalf("%s\nis called %s, and gives %v: it%s\n%s\n%s", text, checked.Type, v, reason, shownVersion(g), shownVersion(called.Graph))
				}
				given[checked.Type.String()]++
				if callee.plain && name == "a0" {
					results[checked.Type.String()]++
				}
				for _, d := range checked.Doubts {
					if !d.Warning && d.Code != workflow.UnknownMember && isEager(text) {
						t.Fatalf("%s\nis called wrong, and gives %v: %+v\n%s\n%s", text, v, d, shownVersion(g), shownVersion(called.Graph))
					}
				}
			}
		}
	}
	if len(given) < 100 {
		t.Errorf("only %d types were given", len(given))
	}
	if len(results) < 50 {
		t.Errorf("only %d types of results were told", len(results))
	}
}

// TestWhatACallGivesIsKnown compares what calls give with the type that is inferred for them.
func TestWhatACallGivesIsKnown(t *testing.T) {
	registry := node.RegistryFor("tenant_1", tenant.English, nil, nil)
	const test = `{"condition": "payload.amount > 1"}`
	gives := func(text string) string { return fmt.Sprintf(`{"expression": %q}`, text) }
	for claim, c := range map[string]struct {
		nodes, edges []string // "id type config", "source output target"
		config, want string
	}{
		"the only node":                 {[]string{"a transform " + gives("1")}, nil, "", "1"},
		"a return":                      {[]string{"a transform " + gives("1"), `r return {"value": ["{{ input }}", "{{ input }}."]}`}, []string{"a - r"}, "", "(number | string)[]"},
		"a return of what flows there":  {[]string{"a transform " + gives("1"), `r return {}`, "b transform " + gives("2")}, []string{"a - r", "r - b"}, "", "1"},
		"a return that may be":          {[]string{"if condition " + test, `r return {"value": 5}`, "b transform " + gives("'b'")}, []string{"if true r", "if false b"}, "", "number | string"},
		"one of two ends":               {[]string{"if condition " + test, "a transform " + gives("'a'"), "b transform " + gives("'b'")}, []string{"if true a", "if false b"}, "", `"a" | "b"`},
		"a branch that leads nowhere":   {[]string{"one transform " + gives("1"), "if condition " + test, "a transform " + gives("'a'")}, []string{"one - if", "if true a"}, "", `1 | "a"`},
		"two ends":                      {[]string{"a transform " + gives("'a'"), "b transform " + gives("'b'")}, nil, "", `{ a: "a", b: "b" }`},
		"an end that may be":            {[]string{"a transform " + gives("'a'"), "if condition " + test, "b transform " + gives("'b'")}, []string{"if true b"}, "", `"a" | { a: "a", if: any, b?: "b" }`},
		"what goes on again":            {[]string{"if condition " + test, "a transform " + gives("'a'"), "b transform " + gives("'b'"), "c transform " + gives("'c'"), "d transform " + gives("'d'")}, []string{"if true a", "if false b", "a - c", "b - c", "b - d"}, "", `"c" | "d" | { c?: "c", d?: "d" }`},
		"a failure that is dealt with":  {[]string{"a transform " + gives("'a'"), "b transform " + gives("'b'")}, []string{"a onError b"}, "", `"a" | "b"`},
		"a loop":                        {[]string{`l forEach {"items": "payload"}`, "l/a transform " + gives("'a'")}, nil, "", `{ count: number, results: "a"[], failed: object[] }`},
		"a loop with ends":              {[]string{`l forEach {"items": "payload", "onItemError": "continue"}`, "l/a transform " + gives("1"), "l/b transform " + gives("'b'")}, nil, "", `{ count: number, results: (object | null)[], failed: object[] }`},
		"a call":                        {[]string{`a callWorkflow {"workflowId": "wf_2"}`}, nil, "", "any"},
		"a call that does not wait":     {[]string{"a transform " + gives("1")}, nil, `, "wait": false`, "{ runId: string }"},
		"a call that may not wait":      {[]string{"a transform " + gives("1")}, nil, `, "wait": "{{ payload.wait }}"`, "any"},
		"a node of which nothing known": {[]string{"a unheard-of {}"}, nil, "", "any"},
	} {
		p := &programs{t: t}
		for _, line := range c.nodes {
			id, rest, _ := strings.Cut(line, " ")
			kind, config, _ := strings.Cut(rest, " ")
			parent, id, nested := strings.Cut(id, "/")
			if !nested {
				parent, id = "", parent
			}
			p.nodes = append(p.nodes, workflow.NodeDraft{ID: workflow.NodeID(id), Parent: workflow.NodeID(parent), Type: kind, Version: "1.0.0", Config: domain.RestoreDocument(config)})
		}
		for _, line := range c.edges {
			ends := strings.Fields(line)
			e := workflow.EdgeDraft{SourceNodeID: workflow.NodeID(ends[0]), TargetNodeID: workflow.NodeID(ends[2])}
			if ends[1] != "-" {
				e.SourceOutputKey = &ends[1]
			}
			p.edges = append(p.edges, e)
		}
		caller := &programs{t: t, nodes: []workflow.NodeDraft{
			{ID: "call", Type: "callWorkflow", Version: "1.0.0", Config: domain.RestoreDocument(`{"workflowId": "wf_2"` + c.config + `}`)},
			{ID: "look", Type: "transform", Version: "1.0.0"},
		}, edges: []workflow.EdgeDraft{{SourceNodeID: "call", TargetNodeID: "look"}}}
		found, err := workflow.Complete(caller.graph(), workflow.Environment{
			Registry: registry, Expressions: Checker{}, Called: map[workflow.ID]workflow.Callee{"wf_2": {Graph: p.graph()}},
		}, workflow.CompletionCall{Node: "look", Field: "config.expression", Text: "input"})
		if err != nil || found.Checked.Type.String() != c.want {
			t.Errorf("%s: %s, not %s; %v", claim, found.Checked.Type, c.want, err)
		}
	}
}

// shownVersion writes what a version does.
func shownVersion(g workflow.Graph) string {
	var b strings.Builder
	for _, n := range g.Nodes() {
		fmt.Fprintf(&b, "%s %s %s %s\n", n.Parent, n.ID, n.Type, n.Config.String())
	}
	for _, e := range g.Edges() {
		fmt.Fprintf(&b, "%s.%s -> %s.%s %s\n", e.SourceNodeID, e.OutputKey(), e.TargetNodeID, e.InputKey(), e.Guard())
	}
	return b.String()
}
