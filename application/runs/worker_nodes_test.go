package runs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

const call = `httpRequest {"url": "https://example.com/orders", "method": "POST"}`

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
		"httpRequest":  {[]string{"a " + call, "b " + call}, []string{"a -> b"}, nil, "a b"},
		"input":        {[]string{`a input {}`, "b " + call}, []string{"a -> b"}, run.EventArrived{Event: "any", Data: json.RawMessage(`"x"`)}, "a b"},
		"waitForEvent": {[]string{`a waitForEvent {"event": "paid"}`, "b " + call}, []string{"a -> b"}, run.EventArrived{Event: "paid"}, "a b"},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, openSQLite(t))
			ver := w.version(c.nodes, c.edges)
			w.start()
			id := w.accept(ver, 1, accepted{})[0]
			if c.resume != nil {
				w.until(id, "the run pauses", is(run.StatusPaused))
				w.act(ver, id, c.resume, w.signals)
			}
			r := w.until(id, "the run ends", finished)
			if got := joined(r.Executed()); r.Status() != run.StatusCompleted || got != c.want {
				t.Errorf("%s after %q: %+v", r.Status(), got, r.Failure())
			}
			if err := w.errors(); err != nil {
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

// withNodes gives the tenant custom nodes.
func (w *workshop) withNodes(types ...string) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		for _, name := range types {
			c, err := node.NewCustom(node.CustomID("cn_"+name), w.owner, node.CustomDraft{
				Type: name, Name: name, Version: "1.0.0", CanPause: name == "approve", Endpoint: "https://nodes.example",
			}, time.Now().UTC())
			if err != nil {
				return err
			}
			if err := st.CustomNodes.Insert(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAnAttemptBearsEverythingThatItNeeds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorkshop(t, store)
		w.withNodes("charge")
		ver := w.version([]string{`a transform {"expression": "({ amount: input.n })"}`, `b charge {"note": "x"}`, "c " + call}, []string{"a -> b", "b -> c"})
		w.start()
		id := w.accept(ver, 1, accepted{})[0]
		w.until(id, "the run completes", is(run.StatusCompleted))
		secrets := []domain.SigningSecret{domain.NewSigningSecret([domain.SecretEntropy]byte{1})}
		want := []outbound.NodeCall{
			{
				Tenant: w.owner, RunID: string(id), EntityID: "e-1", NodeID: "b", Type: "charge", Version: "1.0.0", Attempt: 1,
				Inputs: map[string]any{"amount": json.Number("1")}, Config: map[string]any{"note": "x"},
				IdempotencyKey: string(id) + ":b", Endpoint: "https://nodes.example/charge", Secrets: secrets,
			},
			{
				Tenant: w.owner, RunID: string(id), EntityID: "e-1", NodeID: "c", Type: "httpRequest", Version: "1.0.0", Attempt: 1,
				Inputs: map[string]any{"ok": true}, Timeout: 30 * time.Second, IdempotencyKey: string(id) + ":c",
				Config: map[string]any{"url": "https://example.com/orders", "method": "POST", "timeoutMs": 30000},
			},
		}
		w.outside.mu.Lock()
		defer w.outside.mu.Unlock()
		sameSecret := cmp.Comparer(func(a, b domain.SigningSecret) bool { return a.Equal(b) })
		asText := cmp.Transformer("text", func(v map[string]any) string {
			text, err := json.Marshal(v)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		})
		room := cmpopts.IgnoreFields(outbound.NodeCall{}, "Room")
		if diff := cmp.Diff(want, w.outside.calls, sameSecret, asText, room); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACustomNodeMayPauseTheRun(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, openSQLite(t))
	w.withNodes("approve")
	ver := w.version([]string{`a approve`, `b transform {"expression": "input.by"}`, "c " + call}, []string{"a -> b", "b -> c"})
	w.outside.answer = func(_ context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		if c.NodeID == "c" {
			return outbound.NodeCompleted{}, nil
		}
		return outbound.NodePaused{Event: "approved", Timeout: time.Hour}, nil
	}
	w.start()
	id := w.accept(ver, 1, accepted{})[0]
	r := w.until(id, "the run pauses", is(run.StatusPaused))
	pause := r.Nodes()[0].Pause
	if pause.Event != "approved" || pause.Until.Sub(pause.Since) != time.Hour {
		t.Errorf("%+v", pause)
	}
	token := run.Token(w.key.Secret(id), id, "a", pause.Seq)
	w.eventually("the lease ends with the pause", func() bool { return w.leased() == 0 })
	w.actWith(ver, id, run.Resumed{Token: token, Input: json.RawMessage(`{"by": "Ana"}`)}, []string{"approve"}, w.signals)
	r = w.until(id, "the run ends", finished)
	if output, _ := r.Output("b"); string(output) != `"Ana"` {
		t.Errorf("%s: %s", r.Status(), output)
	}
	if diff := cmp.Diff([]string{"run.started", "run.paused", "run.completed"}, w.events(id)); diff != "" { // the test itself tells nobody that it resumes
		t.Error(diff)
	}
}

func TestACustomNodeWithoutAnEndpointFails(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, openSQLite(t))
	w.withNodes("charge")
	w.outside.endpoint = func(node.Type) (outbound.NodeEndpoint, error) {
		return outbound.NodeEndpoint{}, domain.Fail(domain.NotFound, "node_endpoint_not_found", "The node type charge has no endpoint, nor has the tenant.")
	}
	ver := w.version([]string{`a charge`}, nil)
	w.start()
	r := w.until(w.accept(ver, 1, accepted{})[0], "the run ends", finished)
	want := &run.Failure{Code: "node_endpoint_not_found", Message: "The node type charge has no endpoint, nor has the tenant.", Node: "a"}
	if diff := cmp.Diff(want, r.Failure()); diff != "" || len(w.outside.calls) != 0 || r.Nodes()[0].Attempts != 1 {
		t.Error(diff, w.outside.calls)
	}
}

// leased counts the runs of the tenant that somebody has.
func (w *workshop) leased() (n int) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Runs.Runs.List(ctx, w.owner, run.Filter{}, domain.Query{})
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
