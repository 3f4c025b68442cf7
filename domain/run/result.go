package run

import (
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain/workflow"
)

// returnAction gives the output of the run; without a value that is what flows in.
type returnAction struct {
	value *evaluator // gives the configuration; nil without a value
}

const returnMember = "value"

func (p planner) returns(config map[string]any) action {
	if _, given := config[returnMember]; !given {
		return returnAction{}
	}
	e := &evaluator{field: "config"}
	e.uses.addRootsWithin(config)
	e.expression, e.fault = p.compiler.CompileTemplates(config, p.scope...)
	e.uses.narrow(e.expression, e.fault)
	return returnAction{value: e}
}

func (a returnAction) begin(m *machine, i int) {
	if a.value == nil {
		m.pass(i, "")
		return
	}
	tree, failure := a.value.evaluate(m.view, i, m.at, nil)
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	config, _ := tree.(map[string]any)
	m.give(i, config[returnMember], "")
}

// result finds the nodes whose outputs are that of a run that has completed: the return that
// completed first, else those that completed and from which nothing went on.
func (m *machine) result() (of []workflow.NodeID) {
	for _, id := range m.s.Executed {
		if _, returns := m.plan.nodes[m.plan.index[id]].action.(returnAction); returns {
			return []workflow.NodeID{id}
		}
	}
	for i := range m.s.Nodes {
		if n := m.node(i); n.Status == NodeCompleted && len(n.Dead) == len(m.plan.nodes[i].out) {
			of = append(of, n.ID)
		}
	}
	return of
}

// Result is the output of a completed run: what one node gave, or an object of what several
// gave, by their ids. There is none of a run that has not completed, and of one that a version
// completed that knew of no output. omitted says that it is larger than a limit, in bytes of
// JSON, or than [MaxOutput].
func (r *Run) Result(limit int) (output json.RawMessage, omitted bool) {
	of := r.state.Result
	size := r.ResultSize()
	switch {
	case len(of) == 0:
		return nil, false
	case size > min(limit, MaxOutput):
		return nil, true
	case len(of) == 1:
		output, _ = r.Output(of[0])
		return output, false
	}
	b := make([]byte, 0, size)
	for i, id := range slices.Sorted(slices.Values(of)) {
		single, _ := r.Output(id)
		b = append(b, "{,"[min(i, 1)])
		b = append(appendText(b, string(id)), ':')
		b = append(b, single...)
	}
	return append(b, '}'), false
}

// ResultSize is about how many bytes of JSON the output of the run takes.
func (r *Run) ResultSize() (size int) {
	for _, id := range r.state.Result {
		output, _ := r.Output(id)
		size += len(output)
		if len(r.state.Result) > 1 {
			size += len(id) + 4
		}
	}
	return size
}
