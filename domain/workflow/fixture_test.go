package workflow_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

const owner = tenant.ID("tenant_01h2xcejqtf2nbrexx3vqjhp41")

var (
	morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// goExpressions is an expression language for tests whose grammar is Go's, and which knows no
// types. It takes "a, b => a + b" for a function.
type goExpressions struct{}

func (x goExpressions) Check(s workflow.Source) workflow.Checked {
	var roots []string
	for _, r := range s.Roots {
		roots = append(roots, r.Name)
	}
	var checked workflow.Checked
	var err error
	switch s.Form {
	case workflow.Template, workflow.URLTemplate:
		if s.Form == workflow.URLTemplate && strings.Contains(s.Text, ".com{{") {
			err = errors.New("the host is written out")
		} else {
			checked.Named, err = x.template(s.Text, roots)
		}
	case workflow.EachItem:
		parameters, body, isFunction := strings.Cut(s.Text, "=>")
		if isFunction {
			checked.IsFunction = true
			parameters = strings.ReplaceAll(strings.TrimSpace(parameters), " ", "")
			checked.Named, err = x.expression(body, append(strings.Split(parameters, ","), roots...))
			break
		}
		for _, r := range s.Each {
			roots = append(roots, r.Name)
		}
		fallthrough
	default:
		checked.Named, err = x.expression(s.Text, roots)
	}
	if err != nil {
		checked.Problem = err.Error()
	}
	checked.Uses = map[string]int{workflow.RootInput: strings.Count(s.Text, workflow.RootInput)}
	return checked
}

// Complete offers the roots at the end of a text, as members of what stands before its last dot
// otherwise.
func (goExpressions) Complete(s workflow.Source, at int) (found workflow.Offers) {
	found.From, found.To = at, at
	of, _, isMember := strings.Cut(s.Text[:at], ".")
	for _, r := range s.Roots {
		switch {
		case !isMember:
			found.List = append(found.List, workflow.Offer{Name: r.Name, Kind: workflow.OfferVariable, Type: r.Type})
		case r.Name == of:
			found.Of = of
			for _, name := range r.Type.MemberNames() {
				t, _ := r.Type.Member(name)
				found.List = append(found.List, workflow.Offer{Name: name, Kind: workflow.OfferMember, Type: t})
			}
		}
	}
	return found
}

func (goExpressions) expression(source string, roots []string) ([]workflow.Named, error) {
	tree, err := parser.ParseExpr(source)
	if err != nil {
		return nil, err
	}
	var unknown error
	ast.Inspect(tree, func(n ast.Node) bool { return free(n, roots, &unknown) })
	var named []workflow.Named
	ast.Inspect(tree, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if root, ok := selector.X.(*ast.Ident); ok {
				named = append(named, workflow.Named{Root: root.Name, Name: selector.Sel.Name, At: workflow.Place{Line: 1, Column: int(selector.Sel.Pos())}})
			}
		}
		return true
	})
	return named, unknown
}

// free visits a tree and notes the first name that is no root; what stands behind
// a dot is a member's name.
func free(n ast.Node, roots []string, unknown *error) bool {
	if selector, ok := n.(*ast.SelectorExpr); ok {
		ast.Inspect(selector.X, func(n ast.Node) bool { return free(n, roots, unknown) })
		return false
	}
	if name, ok := n.(*ast.Ident); ok && !slices.Contains(roots, name.Name) && *unknown == nil {
		*unknown = fmt.Errorf("unknown name %q", name.Name)
	}
	return true
}

func (x goExpressions) template(text string, roots []string) (named []workflow.Named, err error) {
	for {
		_, rest, found := strings.Cut(text, "{{")
		if !found {
			return named, nil
		}
		source, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, errors.New("{{ without }}")
		}
		more, err := x.expression(source, roots)
		if err != nil {
			return nil, err
		}
		named, text = append(named, more...), after
	}
}

func schema(t testing.TB, text string) node.Declarations {
	t.Helper()
	var r domain.Rules
	declared := node.ReadDeclarations(&r, "", []byte(text))
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		t.Fatal(err)
	}
	return declared
}

// registry has the built-in nodes and the custom nodes charge 1.0.0 and 1.1.0
// and person 1.0.0.
func registry(t testing.TB) node.Registry {
	t.Helper()
	var custom []*node.Custom
	for _, d := range []node.CustomDraft{
		{
			Type: "charge", Version: "1.0.0",
			InputSchema:  schema(t, `{"amount": {"type": "number", "required": true, "min": 1}, "note": {"type": "string"}}`),
			OutputSchema: schema(t, `{"receipt": {"type": "string", "required": true}, "total": {"type": "number", "required": true}}`),
			ConfigSchema: schema(t, `{"currency": {"type": "string", "pattern": "^[A-Z]{3}$"}}`),
		},
		{Type: "charge", Version: "1.1.0"},
		{
			Type: "person", Version: "1.0.0",
			OutputSchema: schema(t, `{
				"name": {"type": "string", "required": true},
				"amount": {"type": "string", "required": true},
				"address": {"type": "object", "required": true, "properties": {"city": {"type": "string"}}, "additionalProperties": false}
			}`),
		},
	} {
		d.Name = d.Type
		c, err := node.NewCustom(node.CustomID(d.Type+d.Version), owner, d, morning)
		if err != nil {
			t.Fatal(err)
		}
		custom = append(custom, c)
	}
	return node.RegistryFor(owner, tenant.English, []string{"waitForEvent"}, custom)
}

func environment(t testing.TB, triggers ...workflow.AttachedTrigger) workflow.Environment {
	t.Helper()
	return workflow.Environment{Registry: registry(t), Expressions: goExpressions{}, Triggers: triggers}
}

// step is a node draft of a type's first version.
func step(id, kind, config string) workflow.NodeDraft {
	return workflow.NodeDraft{
		ID: workflow.NodeID(id), Type: kind, Version: "1.0.0", Name: id, Config: domain.RestoreDocument(config),
	}
}

func edge(source, target string) workflow.EdgeDraft {
	return workflow.EdgeDraft{SourceNodeID: workflow.NodeID(source), TargetNodeID: workflow.NodeID(target)}
}

// on is an edge that bears a sourceOutputKey.
func on(source, key, target string) workflow.EdgeDraft {
	e := edge(source, target)
	e.SourceOutputKey = &key
	return e
}

// into is an edge that bears both keys.
func into(source, output, target, input string) workflow.EdgeDraft {
	e := on(source, output, target)
	e.TargetInputKey = &input
	return e
}

func when(e workflow.EdgeDraft, condition string) workflow.EdgeDraft {
	e.Condition = &condition
	return e
}

func nodes(n ...workflow.NodeDraft) []workflow.NodeDraft { return n }

func edges(e ...workflow.EdgeDraft) []workflow.EdgeDraft { return e }

// counted gives edges the ids edge_1, edge_2 and so on.
func counted() func() workflow.EdgeID {
	n := 0
	return func() workflow.EdgeID {
		n++
		return workflow.EdgeID(fmt.Sprintf("edge_%d", n))
	}
}

// newGraph is the graph of a draft.
func newGraph(n []workflow.NodeDraft, e []workflow.EdgeDraft, newEdgeID func() workflow.EdgeID) (workflow.Graph, error) {
	wf := workflow.Restore(workflow.State{ID: "wf_1"})
	ver, err := workflow.NewVersion("wfv_1", wf, 1, workflow.VersionDraft{Nodes: n, Edges: e}, newEdgeID, time.Time{})
	if err != nil {
		return workflow.Graph{}, err
	}
	return ver.Graph(), nil
}

func graph(t testing.TB, n []workflow.NodeDraft, e []workflow.EdgeDraft) workflow.Graph {
	t.Helper()
	g, err := newGraph(n, e, counted())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantError compares an error's kind, code and violations.
func wantError(t *testing.T, got error, kind domain.Kind, code string, violations ...domain.Violation) {
	t.Helper()
	var e *domain.Error
	if !errors.As(got, &e) {
		t.Fatalf("error is %v, want a domain error with the code %s", got, code)
	}
	if e.Kind != kind || e.Code != code || e.Message == "" {
		t.Errorf("error is %q of kind %q, want %q of kind %q with a message", e.Code, e.Kind, code, kind)
	}
	if diff := cmp.Diff(violations, e.Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func pointer[T any](v T) *T { return &v }
