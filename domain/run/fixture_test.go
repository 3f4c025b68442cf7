package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

const (
	owner   = tenant.ID("tenant_01h2xcejqtf2nbrexx3vqjhp41")
	version = workflow.VersionID("wfv_01h2xcejqtf2nbrexx3vqjhp41")
	runID   = run.ID("run_01h2xcejqtf2nbrexx3vqjhp41")
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret = run.Secret{1, 2, 3}
)

// tester is a test or a draw of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func declarations(t tester, text string) node.Declarations {
	t.Helper()
	var r domain.Rules
	declared := node.ReadDeclarations(&r, "", []byte(text))
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		t.Fatal(err)
	}
	return declared
}

// registry has the built-in nodes and the custom nodes call, which takes anything,
// charge, which declares an input and a setting, approve, which can pause, score, which
// can pause too and declares an output, note, of whose output nothing is required, and
// strict, of whose output the detail holds nothing but what is declared.
func registry(t tester) node.Registry {
	t.Helper()
	var custom []*node.Custom
	for _, d := range []node.CustomDraft{
		{Type: "call"},
		{Type: "approve", CanPause: true},
		{Type: "score", CanPause: true, OutputSchema: declarations(t, `{"score": {"type": "number", "required": true, "max": 100},
			"label": {"type": "string", "default": "none"}, "reasons": {"type": "array", "items": {"type": "string"}}}`)},
		{Type: "strict", OutputSchema: declarations(t, `{"detail": {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": false}}`)},
		{Type: "note", OutputSchema: declarations(t, `{"text": {"type": "string"}}`)},
		{
			Type:         "charge",
			InputSchema:  declarations(t, `{"amount": {"type": "number", "required": true, "min": 1}, "currency": {"type": "string", "default": "EUR"}}`),
			ConfigSchema: declarations(t, `{"account": {"type": "string", "default": "main"}, "note": {"type": "string", "maxLength": 3}}`),
		},
	} {
		d.Name, d.Version = d.Type, "1.0.0"
		c, err := node.NewCustom(node.CustomID(d.Type), owner, d, noon)
		if err != nil {
			t.Fatal(err)
		}
		custom = append(custom, c)
	}
	return node.RegistryFor(owner, tenant.English, []string{"waitForEvent"}, custom)
}

// nodes reads lines of "id type config", or "parent/id type config"; the configuration may be missing.
func nodes(lines ...string) []workflow.Node {
	list := make([]workflow.Node, len(lines))
	for i, line := range lines {
		id, rest, _ := strings.Cut(line, " ")
		parent, inner, nested := strings.Cut(id, "/")
		if nested {
			id = inner
		} else {
			parent = ""
		}
		kind, config, _ := strings.Cut(rest, " ")
		kind, version, another := strings.Cut(kind, "@")
		if !another {
			version = "1.0.0"
		}
		list[i] = workflow.Node{ID: workflow.NodeID(id), Parent: workflow.NodeID(parent), Type: kind, Version: version, Name: id, Config: domain.RestoreDocument("{}")}
		if config != "" {
			list[i].Config = domain.RestoreDocument(config)
		}
	}
	return list
}

// edges reads lines of "source[.outputKey] -> target[.inputKey] [condition]".
func edges(lines ...string) []workflow.Edge {
	list := make([]workflow.Edge, len(lines))
	for i, line := range lines {
		from, rest, _ := strings.Cut(line, " -> ")
		to, condition, _ := strings.Cut(rest, " ")
		source, outputKey, _ := strings.Cut(from, ".")
		target, inputKey, _ := strings.Cut(to, ".")
		list[i] = workflow.Edge{
			ID: workflow.EdgeID(fmt.Sprint("edge_", i)), SourceNodeID: workflow.NodeID(source), TargetNodeID: workflow.NodeID(target),
			SourceOutputKey: &outputKey, TargetInputKey: &inputKey, Condition: &condition,
		}
	}
	return list
}

func plan(t tester, n []workflow.Node, e []workflow.Edge) *run.Plan {
	t.Helper()
	return run.NewPlan(version, workflow.RestoreGraph(n, e), registry(t), expression.Compiler{})
}

func start(payload string) run.Start {
	return run.Start{
		Tenant: owner, Workflow: "wf_1", Version: version, Entity: "order-7", DedupeKey: "key-7",
		Cause: run.CauseManual, Payload: json.RawMessage(payload),
	}
}

// fired is a trigger of the version with a configuration.
func fired(t tester, id, name, config string) *trigger.Trigger {
	t.Helper()
	return trigger.Restore(trigger.State{
		ID: trigger.ID(id), Tenant: owner, Version: version, Name: name, Type: trigger.Webhook, Config: trigger.RestoreConfig(config),
	})
}

// world drives one run. After every step it drops the run and reads it again from
// what a store would have kept, and checks what holds of every step.
type harness struct {
	t       tester
	plan    *run.Plan
	run     *run.Run
	now     time.Time
	open    map[workflow.NodeID]run.Execute // attempts without a result
	history []run.Entry
	told    []run.DomainEvent
	tokens  map[workflow.NodeID]string
	last    run.Step
}

func begin(t tester, p *run.Plan, s run.Start) *harness {
	t.Helper()
	w := &harness{t: t, plan: p, run: run.New(runID, s, noon), now: noon, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	return w.does(run.Started{})
}

// does advances the run by a fact.
func (w *harness) does(f run.Fact) *harness {
	w.t.Helper()
	before := stored(w.run.State())
	step, err := w.run.Advance(w.plan, run.Event{At: w.now, Secret: secret, Fact: f})
	if err != nil {
		w.t.Fatal(err)
	}
	after := stored(w.run.State())
	if step.Changed() == cmp.Equal(before, after) {
		w.t.Fatalf("the step says that it changed the run: %v; before %+v, after %+v", step.Changed(), before, after)
	}
	w.run = after.restored(w.t)
	w.last = step
	w.history = append(w.history, step.History...)
	w.told = append(w.told, step.Happened...)
	if w.run.More() {
		defer w.does(run.TimeReached{})
	}
	for _, h := range step.Happened {
		if h.Token != "" {
			w.tokens[h.Node] = h.Token
		}
	}
	for _, e := range step.Execute {
		w.open[e.Node] = e
	}
	return w
}

// after lets time pass.
func (w *harness) after(d time.Duration) *harness {
	w.now = w.now.Add(d)
	return w
}

// wakes lets time pass until the run wants to be woken, and wakes it.
func (w *harness) wakes() *harness {
	w.t.Helper()
	if w.last.WakeAt.IsZero() {
		w.t.Fatal("the run does not want to be woken")
	}
	w.now = w.last.WakeAt
	return w.does(run.TimeReached{})
}

// succeeds brings the output of the attempt that is open at the node.
func (w *harness) succeeds(id workflow.NodeID, output string) *harness {
	w.t.Helper()
	return w.does(run.AttemptCompleted{Node: id, Attempt: w.open[id].Attempt, Output: json.RawMessage(output)})
}

// fails brings a failure of the attempt that is open at the node.
func (w *harness) fails(id workflow.NodeID, code string, retryable bool) *harness {
	w.t.Helper()
	return w.does(run.AttemptFailed{Node: id, Attempt: w.open[id].Attempt, Code: code, Message: "It did not work.", Retryable: retryable})
}

// nodes renders what has become of the nodes: "a=completed b=failed(code)".
func (w *harness) nodes() string {
	var b strings.Builder
	for i, n := range w.run.Nodes() {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", n.ID, n.Status)
		if n.Failure != nil {
			fmt.Fprintf(&b, "(%s)", n.Failure.Code)
		}
	}
	return b.String()
}

// output is what a node gave, "-" for nothing.
func (w *harness) output(id workflow.NodeID) string {
	if output, ok := w.run.Output(id); ok {
		return string(output)
	}
	return "-"
}

// data is what the run's context has, as in "input={} a=1".
func (w *harness) data() string {
	var all []string
	for id, document := range w.run.Data() {
		all = append(all, fmt.Sprintf("%s=%s", id, document))
	}
	return strings.Join(all, " ")
}

// refusal is the code with which the last fact was refused, empty when it was not.
func (w *harness) refusal() string {
	if w.last.Refused == nil {
		return ""
	}
	return w.last.Refused.Code
}

func (w *harness) want(status run.Status, states string) {
	w.t.Helper()
	if got := w.nodes(); w.run.Status() != status || got != states {
		w.t.Errorf("the run is %s with %s,\n want %s with %s (%+v)", w.run.Status(), got, status, states, w.run.Failure())
	}
}

// text writes a value as JSON.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// expr is a transform that computes.
func expr(id, source string) string { return id + ` transform {"expression": ` + text(source) + `}` }
