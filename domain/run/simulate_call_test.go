package run_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// caller is a version that calls workflows, each of which is a plan.
func caller(t *testing.T, config string) *run.Plan {
	t.Helper()
	return plan(t, nodes(fmt.Sprintf(`call callWorkflow {"workflowId": "wf_2"%s}`, config), expr("after", "({ got: input })")), edges("call -> after"))
}

func TestASimulationSimulatesWhatIsCalled(t *testing.T) {
	rests := plan(t, nodes(`rest wait {"delayMs": 60000}`, `give return {"value": "{{ payload.n * 2 }}"}`), edges("rest -> give"))
	for claim, c := range map[string]struct {
		callee, version *run.Plan
		answers         answers
		want            string
	}{
		"and gives its output, after as long":       {rests, caller(t, `, "input": {"n": 4}`), nil, `completed {"got":8} after 1m0s`},
		"unless there is an answer":                 {rests, caller(t, ``), answers{"call": {{Output: []byte("7")}}}, `completed {"got":7} after 0s`},
		"and does not wait where it does not":       {rests, caller(t, `, "wait": false`), nil, `completed {"got":{"runId":"` + string(runID) + `"}} after 0s`},
		"and gives its failure":                     {plan(t, nodes(expr("boom", "input.none.none")), nil), caller(t, ``), nil, `failed - after 0s`},
		"and leaves open what would need an answer": {plan(t, nodes(`ask input`), nil), caller(t, ``), nil, `running - after 0s`},
		"and what is not there":                     {nil, caller(t, ``), nil, `running - after 0s`},
	} {
		called := map[workflow.ID]*run.Plan{}
		if c.callee != nil {
			called["wf_2"] = c.callee
		}
		trace, err := run.Simulate(c.version, runID, start(`{}`), noon, run.Outside{Answers: c.answers, Called: called})
		if err != nil {
			t.Errorf("%s: %v", claim, err)
			continue
		}
		output, ok := trace.Run.Output("after")
		if !ok {
			output = []byte("-")
		}
		if got := fmt.Sprintf("%s %s after %s", trace.Run.Status(), output, trace.Run.UpdatedAt().Sub(noon).Round(time.Second)); got != c.want {
			t.Errorf("%s: %s, not %s", claim, got, c.want)
		}
	}
}

// Workflows may call each other in a circle.
func TestASimulationOfACircleEnds(t *testing.T) {
	p := caller(t, ``)
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Called: map[workflow.ID]*run.Plan{"wf_2": p}})
	if err != nil || trace.Run.Status() != run.StatusFailed || trace.Run.Failure().Code != run.CodeCallFailed {
		t.Errorf("%+v, %v", trace.Run.Failure(), err)
	}
}
