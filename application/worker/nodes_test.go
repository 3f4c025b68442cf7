package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestEveryKindOfNodeIsWorkedOn(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		nodes, edges []string
		resume       run.Fact // what ends the pause, if there is one
		want         string   // nodes that were executed
	}{
		"condition": {
			[]string{`a condition {"condition": "input.n > 0"}`, `b transform {"expression": "1"}`, `c transform {"expression": "2"}`},
			[]string{"a.true -> b", "a.false -> c"}, nil, "a b",
		},
		"switch": {
			[]string{`a switch {"expression": "input.n", "cases": [{"value": 1}]}`, `b transform {"expression": "1"}`},
			[]string{"a.case-0 -> b"}, nil, "a b",
		},
		"transform":    {[]string{`a transform {"expression": "input.n"}`}, nil, nil, "a"},
		"wait":         {[]string{`a wait {"delayMs": 30}`, `b transform {"expression": "1"}`}, []string{"a -> b"}, nil, "a b"},
		"longer wait":  {[]string{`a wait {"delayMs": 700}`, `b transform {"expression": "1"}`}, []string{"a -> b"}, nil, "a b"},
		"httpRequest":  {[]string{"a " + fixture.CallNode, "b " + fixture.CallNode}, []string{"a -> b"}, nil, "a b"},
		"input":        {[]string{`a input {}`, "b " + fixture.CallNode}, []string{"a -> b"}, run.EventArrived{Event: "any", Data: json.RawMessage(`"x"`)}, "a b"},
		"waitForEvent": {[]string{`a waitForEvent {"event": "paid"}`, "b " + fixture.CallNode}, []string{"a -> b"}, run.EventArrived{Event: "paid"}, "a b"},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			ver := w.NewVersion(c.nodes, c.edges)
			w.StartWorker()
			id := w.Accept(ver, 1, fixture.RunOptions{})[0]
			if c.resume != nil {
				w.Until(id, "the run pauses", fixture.Is(run.StatusPaused))
				w.Advance(id, c.resume)
				w.Signals.Notify(id)
			}
			r := w.Until(id, "the run ends", fixture.Finished)
			if got := joined(r.Executed()); r.Status() != run.StatusCompleted || got != c.want {
				t.Errorf("%s after %q: %+v", r.Status(), got, r.Failure())
			}
			if err := w.Errors(); err != nil {
				t.Error(err)
			}
		})
	}
}

func joined(ids []workflow.NodeID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, " ")
}

func TestAnAttemptBearsEverythingThatItNeeds(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		w.InsertNodes("charge")
		ver := w.NewVersion([]string{`a transform {"expression": "({ amount: input.n })"}`, `b charge {"note": "x"}`, "c " + fixture.CallNode}, []string{"a -> b", "b -> c"})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		reached := make(map[string]time.Time)
		for _, n := range w.Until(id, "the run completes", fixture.Is(run.StatusCompleted)).Nodes() {
			reached[string(n.ID)] = *n.StartedAt
		}
		secrets := []domain.SigningSecret{domain.NewSigningSecret([domain.SecretEntropy]byte{1})}
		want := []outbound.NodeCall{
			{
				Tenant: w.Owner, RunID: string(id), EntityID: "e-1", NodeID: "b", Type: "charge", Version: "1.0.0", Attempt: 1,
				Inputs: map[string]any{"amount": json.Number("1")}, Config: map[string]any{"note": "x"},
				ReachedAt: reached["b"], IdempotencyKey: string(id) + ":b", Endpoint: "https://nodes.example/charge", Secrets: secrets,
			},
			{
				Tenant: w.Owner, RunID: string(id), EntityID: "e-1", NodeID: "c", Type: "httpRequest", Version: "1.0.0", Attempt: 1,
				Inputs: map[string]any{"ok": true}, ReachedAt: reached["c"], Timeout: 30 * time.Second, IdempotencyKey: string(id) + ":c",
				Config: map[string]any{"url": "https://example.com/orders", "method": "POST", "timeoutMs": 30000},
			},
		}
		w.NodeRunner.Mu.Lock()
		defer w.NodeRunner.Mu.Unlock()
		sameSecret := cmp.Comparer(func(a, b domain.SigningSecret) bool { return a.Equal(b) })
		asText := cmp.Transformer("text", func(v map[string]any) string {
			text, err := json.Marshal(v)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		})
		sameCredential := cmp.Comparer(func(a, b connection.Credential) bool { return a.Connection() == b.Connection() })
		room := cmpopts.IgnoreFields(outbound.NodeCall{}, "ReserveMemory")
		if diff := cmp.Diff(want, w.NodeRunner.Calls, sameSecret, sameCredential, asText, room); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACustomNodeMayPauseTheRun(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.InsertNodes("approve")
	ver := w.NewVersion([]string{`a approve`, `b transform {"expression": "input.by"}`, "c " + fixture.CallNode}, []string{"a -> b", "b -> c"})
	w.NodeRunner.Answer = func(_ context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		if c.NodeID == "c" {
			return outbound.NodeCompleted{}, nil
		}
		return outbound.NodePaused{Event: "approved", Timeout: time.Hour}, nil
	}
	w.StartWorker()
	id := w.Accept(ver, 1, fixture.RunOptions{})[0]
	r := w.Until(id, "the run pauses", fixture.Is(run.StatusPaused))
	pause := r.Nodes()[0].Pause
	if pause.Event != "approved" || pause.Until.Sub(pause.Since) != time.Hour {
		t.Errorf("%+v", pause)
	}
	token := run.Token(w.Key.Secret(id), id, "a", pause.Seq)
	w.Eventually("the lease ends with the pause", func() bool { return w.leased() == 0 })
	w.Advance(id, run.Resumed{Token: token, Input: json.RawMessage(`{"by": "Ana"}`)}, "approve")
	w.Signals.Notify(id)
	r = w.Until(id, "the run ends", fixture.Finished)
	if output, _ := r.Output("b"); string(output) != `"Ana"` {
		t.Errorf("%s: %s", r.Status(), output)
	}
	if diff := cmp.Diff([]string{"run.started", "run.paused", "run.completed"}, w.Events(id)); diff != "" { // the test itself tells nobody that it resumes
		t.Error(diff)
	}
}

func TestACustomNodeWithoutAnEndpointFails(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.InsertNodes("charge")
	w.NodeRunner.EndpointOf = func(node.Type) (outbound.NodeEndpoint, error) {
		return outbound.NodeEndpoint{}, domain.Fail(domain.NotFound, "node_endpoint_not_found", "The node type charge has no endpoint, nor has the tenant.")
	}
	ver := w.NewVersion([]string{`a charge`}, nil)
	w.StartWorker()
	r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
	want := &run.Failure{Code: "node_endpoint_not_found", Message: "The node type charge has no endpoint, nor has the tenant.", Node: "a"}
	if diff := cmp.Diff(want, r.Failure()); diff != "" || len(w.NodeRunner.Calls) != 0 || r.Nodes()[0].Attempts != 1 {
		t.Error(diff, w.NodeRunner.Calls)
	}
}

// leased counts the runs of the tenant that somebody has.
func (d *env) leased() (n int) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Runs.Runs.List(ctx, tenant.All(d.Owner), run.Filter{}, domain.Query{})
		if err != nil {
			return err
		}
		leases := make([]outbound.RunLease, 0, 10*len(all.Items))
		for _, r := range all.Items {
			for number := range int64(10) {
				leases = append(leases, outbound.RunLease{Tenant: r.Tenant, Run: r.ID, Number: number + 1})
			}
		}
		good, err := st.Runs.Queue.Renew(ctx, leases, time.Hour)
		n = len(good)
		return err
	})
	return n
}
