package run

import (
	"encoding/json"
	"iter"

	"github.com/sluicehq/sluice/domain/workflow"
)

// InlineOutput is the greatest length of an output, in bytes of JSON, that is kept with the
// rest of the progress, which is written anew with every step.
const InlineOutput = 4 << 10

// LargeOutputs yields the nodes with an output longer than [InlineOutput].
func (p *Progress) LargeOutputs() iter.Seq[*NodeState] {
	return func(yield func(*NodeState) bool) {
		for i := range p.Nodes {
			if n := &p.Nodes[i]; n.OutputSeq != 0 && !yield(n) {
				return
			}
		}
	}
}

// LargeOutputsSize is the sum of their lengths, in bytes.
func (p *Progress) LargeOutputsSize() (total int) {
	for n := range p.LargeOutputs() {
		total += len(n.Output)
	}
	return total
}

// AddLargeOutputs completes what [DecodeProgress] read; missing is a node whose output is
// not among them, empty for none.
func (p *Progress) AddLargeOutputs(outputs map[workflow.NodeID]json.RawMessage) (missing workflow.NodeID) {
	for n := range p.LargeOutputs() {
		output, ok := outputs[n.ID]
		if !ok {
			return n.ID
		}
		n.Output = output
	}
	return ""
}
