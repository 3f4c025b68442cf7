package run

import (
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// call simulates the workflow that an attempt calls, if any, and answers for it, unless there is
// an answer, or that simulation would need one.
func (s *simulation) call(e Execute) error {
	id, _ := e.Config[node.CalledMember].(string)
	callee, known := s.Called[workflow.ID(id)]
	if !e.StartsRun || !known || s.used[e.Node] < len(s.Answers[e.Node]) {
		return nil
	}
	answer := Answer{Output: json.RawMessage(`{"runId":"` + string(s.run.ID()) + `"}`)}
	if waits, _ := e.Config["wait"].(bool); waits {
		ended, ok, err := s.simulateCallee(e, callee, workflow.ID(id))
		if err != nil || !ok {
			return err
		}
		answer = ended
	}
	s.Answers[e.Node] = append(slices.Clip(s.Answers[e.Node]), answer)
	return nil
}

// simulateCallee is what the node gets of the other workflow; ok is false where that would need an
// answer.
func (s *simulation) simulateCallee(e Execute, callee *Plan, of workflow.ID) (answer Answer, ok bool, err error) {
	if s.run.Depth() >= MaxDepth {
		return Answer{Failure: &AttemptFailed{Code: CodeCallTooDeep, Message: "The run is below too many others."}}, true, nil
	}
	value, given := e.Config["input"]
	if !given {
		value = e.Input
	}
	payload, err := appendValue(nil, value)
	if err != nil {
		return Answer{Failure: &AttemptFailed{Code: CodeInputInvalid, Message: err.Error()}}, true, nil //nolint:nilerr // it is what came of the attempt
	}
	r := New(s.run.ID(), Start{
		Tenant: e.Tenant, SubTenant: e.SubTenant, Workflow: of, Version: callee.version, Entity: e.Entity, Cause: CauseCall, Payload: payload,
	}, s.now)
	r.state.Parent, r.state.ParentNode, r.state.Depth = s.run.ID(), e.Node, s.run.Depth()+1
	below := s.below(callee, r, s.now, map[workflow.NodeID][]Answer{})
	if _, err = below.play(); err != nil || !r.Status().Finished() {
		return Answer{}, false, err
	}
	answer = Answer{After: below.now.Sub(s.now)}
	output, failure := r.Outcome().result()
	if answer.Output = output; failure != nil {
		answer.Failure = &AttemptFailed{Code: failure.Code, Message: failure.Message}
	}
	return answer, true, nil
}
