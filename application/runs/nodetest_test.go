package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

func room(int) bool { return true }

// test executes a node, and says what came of it.
func (d *env) test(ver *workflow.Version, of workflow.NodeID, key domain.IdempotencyKey, c run.NodeTestCall) (string, error) {
	return d.testIn(d.Context(), ver, of, key, c, room)
}

func (d *env) testIn(ctx context.Context, ver *workflow.Version, of workflow.NodeID, key domain.IdempotencyKey, c run.NodeTestCall, hold func(int) bool) (string, error) {
	done, err := d.Runs.TestNode(ctx, d.Caller, key, ver.ID(), of, c, hold)
	if err != nil {
		return "", err
	}
	return said(done), nil
}

func said(done inbound.TestedNode) string {
	for _, n := range done.Run.Nodes() {
		if n.ID != done.Node {
			continue
		}
		output, _ := done.Run.Output(n.ID)
		text := fmt.Sprintf("%s %s of %s", n.Status, output, done.Inputs[n.ID].Input)
		if n.Failure != nil {
			text += " " + n.Failure.Code
		}
		if len(done.Logs[n.ID]) > 0 {
			text += " " + strings.Join(done.Logs[n.ID], "|")
		}
		return text
	}
	return "nothing"
}

// once is a key whose recorded answers are what was said.
func once(key string) domain.IdempotencyKey {
	return domain.IdempotencyKey{Scope: "test", Key: key, Fingerprint: "f", Answer: func(outcome any) ([]byte, error) {
		return []byte(said(outcome.(inbound.TestedNode))), nil
	}}
}

func TestANodeIsExecutedByItself(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	d.InsertNodes("approve")
	ver := d.NewVersion([]string{
		"Paid trigger_webhook", `get httpRequest {"url": "https://example.com/{{ input.id }}/{{ nodes.Paid.q }}", "timeoutMs": 300000}`,
		`big condition {"condition": "input.n > 2"}`, "ask approve", `js code {"source": "return input.n"}`, `sum transform {"expression": "input.n + payload.m"}`,
		`each forEach {"items": "input"}`, `each/send httpRequest {"url": "https://example.com/{{ item }}/{{ index }}/{{ nodes.Paid.q }}"}`,
	}, []string{"Paid -> get", "Paid -> each", "get.body -> big", "big.true -> ask", "ask -> js", "js -> sum"})
	answered := func(outcome outbound.NodeOutcome) {
		d.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) { return outcome, nil }
	}
	for _, c := range []struct {
		of      workflow.NodeID
		call    run.NodeTestCall
		outcome outbound.NodeOutcome
		want    string
	}{
		{"get", run.NodeTestCall{Input: fixture.Body(`{"id":7}`), Nodes: map[workflow.NodeID]json.RawMessage{"Paid": fixture.Body(`{"q":"x"}`)}},
			outbound.NodeCompleted{Output: map[string]any{"status": json.Number("200")}}, `completed {"status":200} of {"id":7}`},
		{"get", run.NodeTestCall{Input: fixture.Body(`{"id":7}`), Nodes: map[workflow.NodeID]json.RawMessage{"Paid": fixture.Body(`{"q":"x"}`)}}, outbound.NodeFailed{Code: "http_503", Message: "down", Retryable: true}, `failed  of {"id":7} http_503`},
		{"big", run.NodeTestCall{Nodes: map[workflow.NodeID]json.RawMessage{"get": fixture.Body(`{"body":{"n":3}}`)}}, nil, `completed {"n":3} of {"n":3}`},
		{"ask", run.NodeTestCall{}, outbound.NodePaused{Event: "paid"}, `waiting  of {}`},
		{"js", run.NodeTestCall{Payload: fixture.Body(`{"n":1}`)}, outbound.NodeCompleted{Output: json.Number("1"), Log: []string{"a", "b"}}, `completed 1 of {"n":1} a|b`},
		{"js", run.NodeTestCall{}, outbound.NodeFailed{Code: "code_failed", Message: "no", Log: []string{"c"}}, `failed  of {} code_failed c`},
		{"sum", run.NodeTestCall{Input: fixture.Body(`{"n":1}`), Payload: fixture.Body(`{"m":2}`)}, nil, `completed 3 of {"n":1}`},
		{"Paid", run.NodeTestCall{Payload: fixture.Body(`{"m":2}`)}, nil, `completed {"m":2} of {"m":2}`},
		{"send", run.NodeTestCall{Item: fixture.Body(`7`), Index: new(2), Nodes: map[workflow.NodeID]json.RawMessage{"Paid": fixture.Body(`{"q":"x"}`)}},
			outbound.NodeCompleted{Output: json.Number("1")}, `completed 1 of 7`},
	} {
		before := len(d.NodeRunner.Calls)
		answered(c.outcome)
		got, err := d.test(ver, c.of, domain.IdempotencyKey{}, c.call)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, not %q: %v", c.of, got, c.want, err)
		}
		if made := len(d.NodeRunner.Calls) - before; (made == 1) != (c.outcome != nil) || made > 1 {
			t.Errorf("%s: %d attempts are made", c.of, made)
		}
	}
	first, custom, inBody := d.NodeRunner.Calls[0], d.NodeRunner.Calls[2], d.NodeRunner.Calls[len(d.NodeRunner.Calls)-1]
	if first.Config["url"] != "https://example.com/7/x" || first.Timeout != 90*time.Second || first.Attempt != 1 || first.IdempotencyKey != first.RunID+":get" {
		t.Errorf("called is %+v", first)
	}
	if inBody.Config["url"] != "https://example.com/7/2/x" {
		t.Errorf("called is %+v", inBody)
	}
	if custom.Endpoint != "https://nodes.example/approve" || len(custom.Secrets) != 1 || !custom.CanPause {
		t.Errorf("called is %+v", custom)
	}
	if left := d.RunsOf(d.Owner); len(left) > 0 {
		t.Errorf("tests leave %d runs", len(left))
	}
}

// What the version keeps as sample data is what others gave, where the call has nothing of them.
func TestATestTakesWhatIsPinned(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	ver := d.NewVersion([]string{"a input", "b input", `sum transform {"expression": "[input, nodes.a]"}`}, []string{"a -> b", "b -> sum"})
	pinned := domain.RestoreDocument(`{"a":{"value":1},"b":{"value":2},"sum":3}`)
	if err := ver.Edit(workflow.VersionPatch{Pins: &pinned}, nil); err != nil {
		t.Fatal(err)
	}
	d.Do(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
	for want, given := range map[string]map[workflow.NodeID]json.RawMessage{
		`completed [{"value":2},{"value":1}] of {"value":2}`: nil,
		`completed [{"value":2},5] of {"value":2}`:           {"a": fixture.Body("5")},
		`completed [null,{"value":1}] of null`:               {"b": fixture.Body("null")},
	} {
		if got, err := d.test(ver, "sum", domain.IdempotencyKey{}, run.NodeTestCall{Nodes: given}); err != nil || got != want {
			t.Errorf("%q, not %q: %v", got, want, err)
		}
	}
}

func TestWhatCannotBeTestedSaysWhy(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	ver := d.NewVersion([]string{"ask input", `get httpRequest {"url": "https://example.com"}`, "gone none"}, nil)
	draft := ver.State()
	draft.ID, draft.Number, draft.Active, draft.PublishedAt = "wfv_draft", 2, false, nil
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Versions.Insert(ctx, workflow.RestoreVersion(draft))
	})
	for want, c := range map[string]struct {
		version workflow.VersionID
		of      workflow.NodeID
		call    run.NodeTestCall
	}{
		"version_not_found":    {"wfv_none", "get", run.NodeTestCall{}},
		"node_not_found":       {ver.ID(), "none", run.NodeTestCall{}},
		"node_not_testable":    {ver.ID(), "ask", run.NodeTestCall{}},
		"version_not_runnable": {"wfv_draft", "gone", run.NodeTestCall{}},
		"call_invalid":         {ver.ID(), "get", run.NodeTestCall{Nodes: map[workflow.NodeID]json.RawMessage{"none": fixture.Body("1")}}},
	} {
		_, err := d.Runs.TestNode(t.Context(), d.Caller, domain.IdempotencyKey{}, c.version, c.of, c.call, room)
		var refused *domain.Error
		if !errors.As(err, &refused) || refused.Code != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
	public := d.Caller
	public.KeyType = tenant.Public
	if _, err := d.Runs.TestNode(t.Context(), public, domain.IdempotencyKey{}, ver.ID(), "get", run.NodeTestCall{}, room); !errors.Is(err, domain.Forbidden) {
		t.Errorf("a public key: %v", err)
	}
	if got, err := d.test(ver, "gone", domain.IdempotencyKey{}, run.NodeTestCall{}); err != nil || got != "failed  of {} node_type_unavailable" {
		t.Errorf("a type that is gone since it was published: %q, %v", got, err)
	}
	d.NodeRunner.EndpointOf = func(node.Type) (outbound.NodeEndpoint, error) {
		return outbound.NodeEndpoint{}, domain.Fail(domain.NotFound, "node_endpoint_not_found", "It has none.")
	}
	d.InsertNodes("approve")
	custom := d.NewVersion([]string{"a approve"}, nil)
	if got, err := d.test(custom, "a", domain.IdempotencyKey{}, run.NodeTestCall{}); err != nil || got != "failed  of {} node_endpoint_not_found" {
		t.Errorf("a custom node without an endpoint: %q, %v", got, err)
	}
	if len(d.NodeRunner.Calls) != 0 {
		t.Errorf("attempts were made: %v", d.NodeRunner.Attempts())
	}
}

// With a key the effect is had once, also where the first test did not come to its end.
func TestATestHasItsEffectOnceForItsKey(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	ver := d.NewVersion([]string{`get httpRequest {"url": "https://example.com"}`, `js code {"source": "return 1"}`}, nil)
	replayed := func(of workflow.NodeID, key, want string) {
		t.Helper()
		_, err := d.test(ver, of, once(key), run.NodeTestCall{})
		var before *domain.Replay
		if !errors.As(err, &before) || string(before.Answer) != want {
			t.Errorf("a repeat gets %v, %+v, not %s", err, before, want)
		}
	}
	for _, of := range []workflow.NodeID{"get", "js"} {
		if got, err := d.test(ver, of, once("whole "+string(of)), run.NodeTestCall{}); err != nil || got != `completed {"ok":true} of {}` {
			t.Errorf("%q, %v", got, err)
		}
		replayed(of, "whole "+string(of), `completed {"ok":true} of {}`)
	}
	d.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		_, err := d.test(ver, "get", once("broken"), run.NodeTestCall{})
		var refused *domain.Error
		if !errors.As(err, &refused) || refused.Code != "idempotency_in_progress" || refused.RetryAfter != time.Second {
			t.Errorf("a repeat while the first test is under way: %v", err)
		}
		return nil, errors.New("the process could not try")
	}
	if _, err := d.test(ver, "get", once("broken"), run.NodeTestCall{}); err == nil {
		t.Error("an attempt that did not come to an end is reported")
	}
	replayed("get", "broken", "failed  of {} attempt_aborted")
	ctx, leave := context.WithCancel(t.Context())
	d.NodeRunner.Answer = func(ctx context.Context, _ outbound.NodeCall) (outbound.NodeOutcome, error) {
		leave()
		return nil, context.Cause(ctx)
	}
	if _, err := d.testIn(ctx, ver, "get", once("left"), run.NodeTestCall{}, room); !errors.Is(err, context.Canceled) {
		t.Errorf("without its client the test ends with %v", err)
	}
	replayed("get", "left", "failed  of {} attempt_aborted")
	d.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		return nil, errors.New("the process could not try")
	}
	if _, err := d.test(ver, "js", once("computes"), run.NodeTestCall{}); err == nil {
		t.Error("code that could not be executed is reported")
	}
	d.NodeRunner.Answer = nil
	if got, err := d.test(ver, "js", once("computes"), run.NodeTestCall{}); err != nil || got != `completed {"ok":true} of {}` {
		t.Errorf("code that could not be executed cannot be tried again: %q, %v", got, err)
	}
	if calls := len(d.NodeRunner.Calls); calls != 6 {
		t.Errorf("%d attempts were made", calls)
	}
}

// A test ends with its client, and holds memory while its call is under way, but none to compute.
func TestATestHoldsTheMemoryOfItsCall(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	ver := d.NewVersion([]string{`get httpRequest {"url": "https://example.com"}`}, nil)
	ctx, leave := context.WithCancel(t.Context())
	d.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		if err := call.ReserveMemory(ctx, 3<<20); err != nil {
			return nil, err
		}
		held := fmt.Sprint(d.Memory.Calls.Used() >= 256<<10, d.Memory.Growing.Used(), d.Memory.Compute.Used(), d.Memory.Planning.Used(), d.Memory.Processors.Used())
		if held != fmt.Sprint(true, 3<<20, 0, 0, 0) {
			t.Errorf("held are %s", held)
		}
		leave()
		return nil, context.Cause(ctx)
	}
	if _, err := d.testIn(ctx, ver, "get", domain.IdempotencyKey{}, run.NodeTestCall{}, room); !errors.Is(err, context.Canceled) {
		t.Errorf("without its client the test ends with %v", err)
	}
	d.NodeRunner.Answer = nil
	size := 0
	done, err := d.Runs.TestNode(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), "get", run.NodeTestCall{}, func(n int) bool { size = n; return false })
	if err != nil || !done.OutputOmitted || size < len(`{"ok":true}`) {
		t.Errorf("where there is no memory for %d bytes: %+v, %v", size, done.OutputOmitted, err)
	}
}
