package run_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// everything is a state in which no member is zero.
func everything() run.State {
	at := func(ms int64) *time.Time {
		t := time.UnixMilli(ms).UTC()
		return &t
	}
	failure := &run.Failure{Code: "code", Message: "mess\"age\n é \x01", Node: "n", Edge: "edge_1"}
	return run.State{
		Origin: run.Origin{
			ID: "run_1", Tenant: "tenant_1", SubTenant: "sub", Workflow: "wf_1", Version: "wfv_1", Snapshot: "wfv_1@2", RerunOf: "run_0", ReplayOf: "hdl_1", Trigger: "trg_1",
			TriggerName: "name", TriggerType: trigger.Webhook, Engine: run.EngineTemporal, Entity: "entity", DedupeKey: "key", Cause: run.CauseIngest,
			Payload: json.RawMessage(`{"b": 1.50, "a": [null]}`),
			Retry:   workflow.RetryPolicy{MaxRetries: 1, Backoff: 100 * time.Millisecond, MaxBackoff: time.Hour}, Timeout: time.Minute,
			CreatedAt: *at(1), Parent: "run_3", ParentNode: "call", ParentWaits: true, Depth: 4, Lane: run.Lane{Name: "trg_1:key", Limit: 2}, Index: 6, Item: json.RawMessage(`1`), Outer: json.RawMessage(`{}`),
		},
		Status: run.StatusFailed, Seq: 1 << 40, UpdatedAt: *at(-5), StartedAt: at(0), FinishedAt: at(6), WakeAt: at(7), Failure: failure,
		Progress: run.Progress{
			Nodes: []run.NodeState{{
				ID: "n <1>", Status: run.NodeFailed, Attempts: 5, AttemptsBeforeRetry: 2, Branch: "true", Failure: failure, Handled: true, Logged: true, Redacted: true, Dead: []int{0, 7},
				Undecided: []workflow.EdgeID{"edge_1", "edge_2"},
				Output:    json.RawMessage(`null`), OutputSeq: 3, OutputOf: "m", OutputIsInput: true, TakenOver: true, StartedAt: at(8), FinishedAt: at(9), RetryAt: at(10),
				Pause: &run.Pause{Kind: run.PauseEvent, Event: "paid", Since: *at(11), Until: at(12), Seq: 13, Run: "run_2", RunPaused: true, TokenHash: "hash", Guarded: true,
					Question:   &run.Question{Title: "t", Prompt: "p", Assignee: "a", Kind: "text", Single: true, Form: node.Declarations{{Name: "value", Declaration: node.Declaration{Type: node.String}}}},
					AnsweredBy: &tenant.Actor{Kind: tenant.ByKey, ID: "key_1", Subject: "s"},
				},
			}, {ID: "idle", Status: run.NodePending}},
			Executed: []workflow.NodeID{"a", "b"}, Result: []workflow.NodeID{"c", "d"}, Retries: 3, Begin: []int{1}, Consider: []int{0, 1}, Calls: 5, Used: time.Second, ActiveSince: at(14),
		},
	}
}

// storedRun is a run as stores keep it: the progress as text, large outputs apart from it.
type storedRun struct {
	State             run.State // without payload and progress
	Payload, Progress string
	Outputs           map[workflow.NodeID]string
}

func stored(s run.State) storedRun {
	r := storedRun{State: s, Payload: string(s.Payload), Progress: string(run.EncodeProgress(s.Progress)), Outputs: make(map[workflow.NodeID]string)}
	for n := range s.LargeOutputs() {
		r.Outputs[n.ID] = string(n.Output)
	}
	r.State.Payload, r.State.Progress = nil, run.Progress{}
	return r
}

func (r storedRun) restored(t tester) *run.Run {
	progress, err := run.DecodeProgress([]byte(r.Progress))
	if err != nil {
		t.Fatal(err)
	}
	outputs := make(map[workflow.NodeID]json.RawMessage)
	for id, output := range r.Outputs {
		outputs[id] = json.RawMessage(output)
	}
	if missing := progress.AddLargeOutputs(outputs); missing != "" {
		t.Fatalf("the output of node %q is missing", missing)
	}
	r.State.Payload, r.State.Progress = json.RawMessage(r.Payload), progress
	return run.Restore(r.State)
}

func TestAStateComesBackWhole(t *testing.T) {
	s := everything()
	for _, v := range []reflect.Value{
		reflect.ValueOf(s), reflect.ValueOf(s.Origin), reflect.ValueOf(s.Progress), reflect.ValueOf(s.Nodes[0]), reflect.ValueOf(*s.Nodes[0].Pause),
		reflect.ValueOf(*s.Failure),
	} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test leaves %s.%s out", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	if diff := cmp.Diff(s, stored(s).restored(t).State()); diff != "" {
		t.Error(diff)
	}
	progress, err := run.DecodeProgress(run.EncodeProgress(s.Progress))
	if missing := progress.AddLargeOutputs(nil); missing != s.Nodes[0].ID {
		t.Errorf("the output of node %q is missing, not that of %q", missing, s.Nodes[0].ID)
	}
	if missing := progress.AddLargeOutputs(map[workflow.NodeID]json.RawMessage{s.Nodes[0].ID: s.Nodes[0].Output}); missing != "" {
		t.Errorf("the output of node %q is missing", missing)
	}
	if diff := cmp.Diff(s.Progress, progress); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if diff := cmp.Diff(s, run.Restore(s).State()); diff != "" {
		t.Error(diff)
	}
	fresh := run.New(runID, start(""), noon).State()
	if got := stored(fresh).restored(t).State(); !cmp.Equal(fresh, got) || string(got.Payload) != "null" {
		t.Errorf("a fresh run came back as %+v", got)
	}
	for _, text := range []string{"", "[]", `{"retries": "x"}`} {
		if _, err = run.DecodeProgress([]byte(text)); err == nil {
			t.Errorf("%q is taken for progress", text)
		}
	}
}

// TestStoredProgressStaysReadable pins the form in which stores hold it.
func TestStoredProgressStaysReadable(t *testing.T) {
	const want = `{"retries":3,"begin":[1],"consider":[0,1],"calls":5,"used":1000,"activeSince":14,"executed":["a","b"],"result":["c","d"],"nodes":[{"id":"n <1>","status":"failed","attempts":5,"before":2,"branch":"true","failure":{"code":"code","message":"mess\"age\n é \u0001","node":"n","edge":"edge_1"},"handled":true,"logged":true,"redacted":true,"dead":{"undecided":["edge_1","edge_2"],"edges":[0,7]},"outputSeq":3,"outputOf":"m","givesInput":true,"takenOver":true,"startedAt":8,"finishedAt":9,"retryAt":10,"pause":{"kind":"event","event":"paid","since":11,"until":12,"seq":"13","run":"run_2","runPaused":true,"tokenHash":"hash","question":{"title":"t","prompt":"p","assignee":"a","kind":"text","single":true,"form":{"value":{"type":"string"}}},"answeredBy":{"kind":"apiKey","id":"key_1","subject":"s"}}},{"id":"idle"}]}`
	if got := string(run.EncodeProgress(everything().Progress)); got != want {
		t.Errorf("the progress is written as\n%s, not\n%s", got, want)
	}
}

func TestWhatAStateGivesAwayDoesNotChangeTheRun(t *testing.T) {
	r := run.Restore(everything())
	before := stored(r.State())
	s := r.State()
	s.Nodes[0].Status, s.Executed[0] = run.NodeSkipped, "x"
	r.Nodes()[0].Branch, r.Executed()[0] = "x", "x"
	*r.StartedAt(), *r.FinishedAt(), *r.WakeAt() = noon, noon, noon
	if diff := cmp.Diff(before, stored(r.State())); diff != "" {
		t.Errorf("the run changed: %s", diff)
	}
}

func TestAccessorsSayWhatTheStateHolds(t *testing.T) {
	s := everything()
	r := run.Restore(s)
	got := run.State{
		Origin: run.Origin{
			ID: r.ID(), Tenant: r.Tenant(), SubTenant: r.SubTenant(), Workflow: r.Workflow(), Version: r.Version(), Snapshot: r.Source().Snapshot, RerunOf: r.RerunOf(), ReplayOf: r.ReplayOf(), Trigger: r.Trigger(),
			TriggerName: s.TriggerName, TriggerType: s.TriggerType, Engine: r.Engine(), Retry: s.Retry, Timeout: s.Timeout,
			Entity: r.Entity(), DedupeKey: r.DedupeKey(), Cause: r.Cause(), Payload: r.Payload(), CreatedAt: r.CreatedAt(),
			Parent: r.Parent(), ParentNode: r.ParentNode(), ParentWaits: s.ParentWaits, Depth: r.Depth(), Lane: r.Lane(), Index: s.Index, Item: s.Item, Outer: s.Outer,
		},
		Status: r.Status(), Seq: r.Seq(), UpdatedAt: r.UpdatedAt(), StartedAt: r.StartedAt(), FinishedAt: r.FinishedAt(), WakeAt: r.WakeAt(), Failure: r.Failure(),
		Progress: run.Progress{Nodes: r.Nodes(), Executed: r.Executed(), Result: s.Result, Retries: r.Retries(), Begin: s.Begin, Consider: s.Consider, Calls: r.Calls(), Used: s.Used, ActiveSince: s.ActiveSince},
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
}
