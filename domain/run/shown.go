package run

import (
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Tokens are the resume tokens of the nodes that wait for one, made anew under the
// secret that made them; see [Token]. A node whose token was made under another secret
// is left out.
func (r *Run) Tokens(s Secret) map[workflow.NodeID]string {
	tokens := make(map[workflow.NodeID]string)
	for i := range r.state.Nodes {
		n := &r.state.Nodes[i]
		if n.Status != NodeWaiting || n.Pause.TokenHash == "" {
			continue
		}
		if token := Token(s, r.state.ID, n.ID, n.Pause.Seq); hashToken(token) == n.Pause.TokenHash {
			tokens[n.ID] = token
		}
	}
	return tokens
}

// Ends says whether the run has ended with an entry of the type. A failed run can be
// retried, and then goes on after it.
func (t EntryType) Ends() bool {
	return t == EntryRunCompleted || t == EntryRunFailed || t == EntryRunCancelled
}

// MostSimulated is how large what a simulation shows may be, in bytes of JSON. What flows
// into each node is a document of its own, and together they may be hundreds of times what
// the nodes gave.
const MostSimulated = 64 << 20

// SimulationTooLarge refuses to show a simulation.
func SimulationTooLarge() error {
	return domain.Fail(domain.Invalid, "simulation_too_large",
		"What flows through this simulation and comes of it is more than %d bytes of JSON. Simulate it with smaller data.", MostSimulated)
}

// Inputs is what flowed into each node that a simulated run has reached; see [Run.Input].
// It fails with [SimulationTooLarge] as soon as it is clear that they are.
func (r *Run) Inputs(p *Plan) (map[workflow.NodeID]json.RawMessage, error) {
	inputs, size := make(map[workflow.NodeID]json.RawMessage), 0
	for i := range r.state.Nodes {
		id := r.state.Nodes[i].ID
		input, reached, err := r.Input(p, id)
		if err != nil {
			return nil, err
		}
		if !reached {
			continue
		}
		if size += len(input); size > MostSimulated {
			return nil, SimulationTooLarge()
		}
		inputs[id] = input
	}
	return inputs, nil
}

// Waits says whether a node waits for something else than a time.
func (r *Run) Waits() bool {
	return slices.ContainsFunc(r.state.Nodes, func(n NodeState) bool { return n.Status == NodeWaiting && n.Pause.Kind != PauseWait })
}
