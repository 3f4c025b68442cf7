package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// editor writes texts of the versions of a gateway.
type editor struct {
	*fixture.Env
	versions *workflows.Versions
}

func newEditor(t testing.TB) *editor {
	t.Helper()
	e := fixture.New(t, sqlitetest.Open(t))
	known := directory.New(e.Raw)
	known.SetReliable(true)
	versions := workflows.NewVersions(e.Store, known, expression.Checker{}, e.Clock, system.Random{}).WithValues(expression.Compiler{}, e.Memory.OfRuns())
	return &editor{e, versions}
}

// shop is a version whose runs go all the way from one node to the next.
func (e *editor) shop() *workflow.Version {
	return e.NewVersion([]string{
		`large condition {"condition": "input.amount > 100"}`,
		`double transform {"transformType": "expression", "expression": "{ amount: payload.amount * 2, status: payload.amount > 1 ? 'open' : 'paid' }"}`,
		`each transform {"transformType": "map", "source": "payload.lines", "expression": "item"}`,
		`end transform {"transformType": "expression", "expression": "input", "mapping": {}}`,
		`made transform {"transformType": "expression", "mapping": {"a": "1"}}`,
		`call httpRequest {"url": "https://example.com/{{ input.id }}", "method": "GET"}`,
	}, []string{"large.true -> double", "large.false -> each", "double -> end double.amount", "end -> call"})
}

// completion says what is offered at the | in a text: "node.field text", or "edge N text".
func (e *editor) complete(ver *workflow.Version, line string, sample *run.Sample) (inbound.Completed, error) {
	at, text, _ := strings.Cut(line, " ")
	var call workflow.CompletionCall
	id, field, _ := strings.Cut(at, ".")
	if call.Field = field; strings.HasPrefix(id, "edge") {
		var n int
		_, _ = fmt.Sscanf(id, "edge%d", &n)
		call.Edge = ver.Graph().Edges()[n].ID
	} else {
		call.Node = workflow.NodeID(id)
	}
	before, after, found := strings.Cut(text, "|")
	if call.Text = before + after; found {
		call.At = &workflow.Place{Line: 1 + strings.Count(before, "\n"), Column: 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))}
	}
	return e.versions.Complete(e.Context(), e.Caller, domain.IdempotencyKey{}, ver.ID(), call, sample)
}

// shown is what is offered, without what the language has, and what the whole gives.
func shown(done inbound.Completed) string {
	var parts []string
	for _, o := range done.Offers.List {
		switch o.Kind {
		case workflow.OfferMethod, workflow.OfferFunction, workflow.OfferNamespace, workflow.OfferConstant:
			continue
		}
		part := o.Name + ": " + o.Type.String()
		if o.About != "" {
			part += " (" + o.About + ")"
		}
		if value, known := done.Values[o.Name]; known {
			part += " = " + string(value)
		}
		parts = append(parts, part)
	}
	whole := " => " + done.Checked.Type.String()
	if done.Value != nil {
		whole += " = " + string(done.Value)
	}
	switch {
	case done.Checked.Problem != "":
		whole = " => " + done.Checked.Problem
	case done.Problem != "":
		whole += ", " + done.Problem
	}
	return strings.Join(parts, ", ") + whole
}

func sampleOf(payload string, nodes map[workflow.NodeID]string) *run.Sample {
	s := &run.Sample{Nodes: map[workflow.NodeID]json.RawMessage{}}
	if payload != "" {
		s.Payload = json.RawMessage(payload)
	}
	for id, output := range nodes {
		s.Nodes[id] = json.RawMessage(output)
	}
	return s
}

func TestAnEditorLearnsWhatIsKnownWhereSomebodyWrites(t *testing.T) {
	e := newEditor(t)
	ver := e.shop()
	order := sampleOf(`{"amount": 7, "lines": [{"sku": "a-1", "n": 2}]}`, nil)
	for line, c := range map[string]struct {
		sample *run.Sample
		want   string
	}{
		`end.config.expression input.amount.|`: {nil, " => line 1, column 14: must be one JavaScript expression: unexpected end; the expression is not complete"},
		`end.config.expression nodes.|`: {nil, "large: any (large), double: { amount: number, status: \"open\" | \"paid\" } (double) => " +
			"line 1, column 7: must be one JavaScript expression: unexpected end; the expression is not complete"},
		`end.config.expression nodes.double.|status`:    {nil, `amount: number, status: "open" | "paid" => "open" | "paid"`},
		`end.config.expression input.status === "|"`:    {nil, `"open": string, "paid": string => boolean`},
		`made.config.mapping.total payload.|amount * 2`: {order, `amount: number = 7, lines: array = [{"n":2,"sku":"a-1"}] => number = 14`},
		`made.config.mapping.deep.list[0] inp|ut.amount`: {order, `input: any = {"amount":7,"lines":[{"n":2,"sku":"a-1"}]}, payload: any = {"amount":7,"lines":[{"n":2,"sku":"a-1"}]}, nodes: {}, ` +
			`run: { id: string, tenantId: string, workflowId: string, workflowVersionId: string, entityId: string, … } => any = 7`},
		`each.config.expression item.|sku`:                  {order, `n: number = 2, sku: string = "a-1" => any = "a-1"`},
		`each.config.expression (row, i) => row.|n + i`:     {order, `n: number = 2, sku: string = "a-1" => number | string = 2`},
		`each.config.source payload.lines.map(l => l.|sku)`: {order, `n: number = 2, sku: string = "a-1" => array = ["a-1"]`},
		`double.config.expression input.|amount + 1`:        {order, `amount: number = 7, lines: array = [{"n":2,"sku":"a-1"}] => number | string = 8`},
		`edge2.condition result.|amount > 10`:               {sampleOf("", map[workflow.NodeID]string{"double": `{"amount": 14, "more": 1}`}), `amount: number = 14, status: "open" | "paid" => boolean = true`},
		`call.config.url https://example.com/{{ input.|amount }}/x`: {sampleOf(`{}`, map[workflow.NodeID]string{"end": `{"amount": 3}`}),
			`amount: number = 3, status: "open" | "paid" => string = "https://example.com/3/x"`},
		`call.config.url https://exa|mple.com/`:          {order, ` => string`},
		`call.config.headers.X-Amount {{ nodes.double.|`: {nil, `amount: number, status: "open" | "paid" => line 1, column 1: {{ has no }} that closes it; write {{ expression }}, or {{ "{{" }} for the braces themselves`},
		`large.config.condition payload.gone.x|`:         {order, ` => any, line 1, column 14: payload.gone is undefined; cannot read "x"; write ?. before it where it may be missing`},
	} {
		done, err := e.complete(ver, line, c.sample)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(c.want, shown(done)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", line, diff)
		}
	}
}

func TestWithoutASampleTheLatestRunTells(t *testing.T) {
	e := newEditor(t)
	ver := e.shop()
	const line = `end.config.expression nodes.double.|amount`
	tell := func(want string) {
		t.Helper()
		done, err := e.complete(ver, line, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(done); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	tell(`amount: number, status: "open" | "paid" => number`)
	for _, id := range e.Accept(ver, 1, fixture.RunOptions{Payload: `{"amount": 200}`}) {
		e.Begin(id)
	}
	tell(`amount: number = 400, status: "open" | "paid" = "open" => number = 400`)
	e.Caller.KeyType = tenant.Public
	if _, err := e.complete(ver, line, nil); !errors.Is(err, domain.Forbidden) {
		t.Errorf("with a public key: %v", err)
	}
	e.Caller = fixture.SecretCaller(e.NewTenant())
	if _, err := e.complete(ver, line, nil); !errors.Is(err, domain.NotFound) {
		t.Errorf("another tenant: %v", err)
	}
}

func TestWhatCannotBeCompletedIsNamed(t *testing.T) {
	e := newEditor(t)
	ver := e.shop()
	field := func(field, text string) func(*workflow.CompletionCall) {
		return func(c *workflow.CompletionCall) { c.Field, c.Text = field, text }
	}
	for want, change := range map[string]func(*workflow.CompletionCall){
		"nodeId: required":        func(c *workflow.CompletionCall) { c.Node = "" },
		"nodeId: unknown":         func(c *workflow.CompletionCall) { c.Node = "none" },
		"edgeId: unknown":         func(c *workflow.CompletionCall) { c.Node, c.Edge = "", "none" },
		"edgeId: conflicting":     func(c *workflow.CompletionCall) { c.Edge = "both" },
		"field: required":         field("", ""),
		"field: not_allowed":      field("config.transformType", "map"),
		"field: not_allowed ":     field("name", "{{ input."),
		"field: not_allowed  ":    field("config[0]", "x"),
		"field: not_allowed   ":   field("config.expression.deeper", "x"),
		"position: not_allowed":   func(c *workflow.CompletionCall) { c.At = &workflow.Place{Line: 1, Column: 99} },
		"position: not_allowed ":  func(c *workflow.CompletionCall) { c.At = &workflow.Place{Line: 2, Column: 1} },
		"position: not_allowed  ": func(c *workflow.CompletionCall) { c.At = &workflow.Place{} },
		"text: too_long":          func(c *workflow.CompletionCall) { c.Text = strings.Repeat("x", workflow.MaxCompletionText+1) },
	} {
		call := workflow.CompletionCall{Node: "end", Field: "config.expression", Text: "input."}
		change(&call)
		_, err := e.versions.Complete(e.Context(), e.Caller, domain.IdempotencyKey{}, ver.ID(), call, nil)
		var failed *domain.Error
		if !errors.As(err, &failed) || failed.Code != "completion_invalid" || len(failed.Violations) != 1 {
			t.Errorf("%s: got %v", want, err)
			continue
		}
		if got := failed.Violations[0].Field + ": " + string(failed.Violations[0].Code); got != strings.TrimSpace(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err := e.complete(ver, "end.config.expression x", &run.Sample{Payload: json.RawMessage("{")})
	e.WantCode(err, domain.Invalid, "completion_invalid")
	ver = e.NewVersion([]string{"a unheard-of"}, nil)
	_, err = e.complete(ver, "a.config.condition input.", nil)
	e.WantCode(err, domain.Invalid, "completion_invalid")
}

// BenchmarkComplete answers for the last of 200 nodes that lead to one another, each of which computes.
func BenchmarkComplete(b *testing.B) {
	e := newEditor(b)
	nodes := []string{`n0 transform {"transformType": "expression", "expression": "{ amount: payload.amount }"}`}
	var edges []string
	for i := 1; i < 200; i++ {
		nodes = append(nodes, fmt.Sprintf(`n%d transform {"transformType": "expression", "expression": "{ amount: input.amount > %d ? nodes.n%d.amount + 1 : Math.max(input.amount, %d), name: payload.name.trim() }"}`, i, i, i-1, i))
		edges = append(edges, fmt.Sprintf("n%d -> n%d", i-1, i))
	}
	ver := e.NewVersion(nodes, edges)
	sample := sampleOf(`{"amount": 7}`, map[workflow.NodeID]string{"n198": `{"amount": 7}`})
	for b.Loop() {
		done, err := e.complete(ver, "n199.config.expression nodes.n198.|amount + 1", sample)
		if err != nil || len(done.Offers.List) == 0 || done.Value == nil {
			b.Fatal(done, err)
		}
	}
}
