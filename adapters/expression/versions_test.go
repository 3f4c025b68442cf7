package expression

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// programs composes versions whose texts look at what flows there, rightly or not. No text is
// like another.
type programs struct {
	t     *rapid.T
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

func payloadType(t interface{ Fatal(...any) }) typing.Type {
	var r domain.Rules
	schema := node.ParseSchema(&r, "", node.ReadDeclarations(&r, "", []byte(payloadSchema)))
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		t.Fatal(err)
	}
	return typing.FromSchema(schema, typing.Open)
}

func drawVersion(t *rapid.T) (*programs, workflow.Graph) {
	p := &programs{t: t}
	p.fill("", nil, 1+p.one(7))
	ids := 0
	ver, err := workflow.NewVersion("wfv_1", workflow.Restore(workflow.State{ID: "wf_1"}), 1, workflow.VersionDraft{Nodes: p.nodes, Edges: p.edges}, func() workflow.EdgeID {
		ids++
		return workflow.EdgeID(fmt.Sprint("edge_", ids))
	}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return p, ver.Graph()
}

func (p *programs) one(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "one") }

func (p *programs) pick(options ...string) string {
	return rapid.SampledFrom(options).Draw(p.t, "pick")
}

// fill adds nodes of one body, which lead to one another, and what is in their bodies.
func (p *programs) fill(parent workflow.NodeID, outer []string, size int) {
	var siblings []int
	for range size {
		place := len(p.nodes)
		id := fmt.Sprint("n", place)
		kind := p.pick("transform", "transform", "transform", "condition", "forEach", "return", "httpRequest")
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
	case "httpRequest":
		return map[string]any{"url": "https://example.com", "body": map[string]any{"x": "{{ " + text("body.x") + " }}"}}
	}
	switch p.one(4) {
	case 0:
		return map[string]any{"transformType": "map", "source": text("source"), "expression": text("expression", "item", "index")}
	case 1:
		return map[string]any{"transformType": p.pick("filter", "reduce"), "source": text("source"), "expression": text("expression", "item")}
	case 2:
		return map[string]any{"transformType": "expression", "mapping": map[string]any{"a": text("mapping.a"), "b": text("mapping.b")}}
	}
	return map[string]any{"transformType": "expression", "expression": text("expression")}
}

// text composes an expression over roots, and notes where it stands.
func (p *programs) text(place int, edge bool, field string, roots []string) string {
	text := p.expression(roots, 3) + fmt.Sprintf(" /* %d */", len(p.texts))
	p.texts = append(p.texts, written{place, edge, field, text})
	return text
}

func (p *programs) expression(roots []string, depth int) string {
	if depth == 0 {
		return p.pick("1", `"x"`, "[1, 2]", "null", "payload.amount", "payload.tags")
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
	env := workflow.Environment{Registry: node.RegistryFor("tenant_1", tenant.English, nil, nil), Payload: payloadType(t)}
	told := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, g := drawVersion(t)
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
	})
	if len(told) < 20 {
		t.Errorf("only %d types were told: %v", len(told), told)
	}
}
