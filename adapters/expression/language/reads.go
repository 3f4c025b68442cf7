package language

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/workflow"
)

// Member is a member of a root that a source reads by a name that is written out.
type Member struct {
	Root, Name string
	At         int // the byte of the source
}

// Members lists the members of roots that the source reads by names that are written out.
func (p *Program) Members() []Member { return slices.Clone(p.members) }

// NodesRead returns the ids of the nodes whose outputs the source reads under names that are
// written out, in order. all is true where it may read others as well.
func (p *Program) NodesRead() (ids []string, all bool) {
	return slices.Clone(p.nodes.ids), p.nodes.all
}

// readMember notes the member that is read of a value, where that is a root.
func (c *compiler) readMember(of ast.Expression, member string, at int) {
	if optional, ok := of.(*ast.Optional); ok {
		of = optional.Expression
	}
	if root, ok := of.(*ast.Identifier); ok {
		name := root.Name.String()
		if _, hidden := c.slot(name); !hidden && slices.Contains(c.roots, name) {
			c.members = append(c.members, Member{name, member, at})
		}
	}
}

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
	for _, m := range c.members {
		if m.Root == workflow.RootNodes {
			byName++
			read.ids = append(read.ids, m.Name)
		}
	}
	read.all = c.uses[workflow.RootNodes] > byName
	return read.with(nodesRead{})
}

// with joins what two sources read.
func (r nodesRead) with(other nodesRead) nodesRead {
	ids := slices.Concat(r.ids, other.ids)
	slices.Sort(ids)
	return nodesRead{ids: slices.Compact(ids), all: r.all || other.all}
}
