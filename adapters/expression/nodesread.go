package expression

import (
	"slices"

	"github.com/sluicehq/sluice/domain/workflow"
)

// nodesRead is what a source reads of the root that holds the outputs of nodes.
type nodesRead struct {
	ids []string // under names that are written out, in order
	all bool     // it may read others as well
}

// nodesRead sums up what was compiled: a use of the root that reads no member by a
// written name may read any.
func (c *compiler) nodesRead() nodesRead {
	var read nodesRead
	byName := 0
	for _, n := range c.named {
		if n.root == workflow.RootNodes {
			byName++
			read.ids = append(read.ids, n.name)
		}
	}
	read.all = c.nodeUses > byName
	return read.with(nodesRead{})
}

// with joins what two sources read.
func (r nodesRead) with(other nodesRead) nodesRead {
	ids := slices.Concat(r.ids, other.ids)
	slices.Sort(ids)
	return nodesRead{ids: slices.Compact(ids), all: r.all || other.all}
}
