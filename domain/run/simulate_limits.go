package run

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// MaxSimulatedOutput is how large what a simulation shows may be, in bytes of JSON. What flows
// into each node is a document of its own, and together they may be hundreds of times what
// the nodes gave.
const MaxSimulatedOutput = 64 << 20

// SimulationTooLarge refuses to show a simulation.
func SimulationTooLarge() error {
	return domain.Fail(domain.Invalid, "simulation_too_large",
		"What flows through this simulation and comes of it is more than %d bytes of JSON. Simulate it with smaller data.", MaxSimulatedOutput)
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
		if size += len(input); size > MaxSimulatedOutput {
			return nil, SimulationTooLarge()
		}
		inputs[id] = input
	}
	return inputs, nil
}

// Bounds of a simulation: how much it computes, and how large the values are that its
// effects would send, as they lie in memory.
const (
	MaxSimulatedSteps   = 20_000_000
	MaxSimulatedEffects = 32 << 20

	effectBytes = 1 << 10 // of an effect besides
)

// spend counts what the simulation holds until its end.
func (s *simulation) spend(bytes int64) error {
	if s.spent.effects += bytes; s.spent.effects > MaxSimulatedEffects {
		return domain.Fail(domain.Invalid, "simulation_too_large",
			"What this simulation would send, and the bodies that it runs, take more than %d bytes of memory. Simulate it with smaller data.", MaxSimulatedEffects)
	}
	return nil
}
