package workflow

import (
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// Starts returns the nodes at which a run begins that the trigger starts: the one whose config._triggerId is the trigger,
// else the only trigger node of the trigger's name and type, else every node
// without an incoming edge. For a run that no trigger starts pass the zero value.
func (g Graph) Starts(trg AttachedTrigger) []NodeID { return g.startsAt(g.triggerNodes(), trg) }

func (g Graph) startsAt(nodes []triggerNode, trg AttachedTrigger) []NodeID {
	if trg.ID == "" {
		return g.Roots()
	}
	var alike []NodeID
	for _, n := range nodes {
		if n.triggerID == trg.ID {
			return []NodeID{n.id}
		}
		if n.name == trg.Name && n.triggerType == trg.Type {
			alike = append(alike, n.id)
		}
	}
	if len(alike) == 1 {
		return alike
	}
	return g.Roots()
}

// triggerNode is a node that stands for a trigger.
type triggerNode struct {
	id          NodeID
	name        string
	triggerID   string // what its configuration names, empty for none
	triggerType string // the type of trigger it stands for
}

// triggerNodes finds them where runs begin, which is in no body.
func (g Graph) triggerNodes() []triggerNode {
	var found []triggerNode
	for i, n := range g.nodes {
		if _, nested := g.parent(i); !nested && node.Type(n.Type).IsTrigger() {
			config, _ := object(n.Config)
			id, _ := config["_triggerId"].(string)
			found = append(found, triggerNode{id: n.ID, name: n.Name, triggerID: id, triggerType: triggerType(n)})
		}
	}
	return found
}

// triggerType is the type of trigger that a trigger node stands for.
func triggerType(n Node) string { return strings.TrimPrefix(n.Type, "trigger_") }

// reached returns the nodes that some run of the version can come to. Runs begin
// where its triggers start them and at trigger nodes, whose trigger may be made
// later; without either the version is started by hand.
func (c *checker) reached() map[NodeID]bool {
	var starts []NodeID
	for _, n := range c.triggerNodes {
		starts = append(starts, n.id)
	}
	for _, trg := range c.env.Triggers {
		starts = append(starts, c.g.startsAt(c.triggerNodes, trg)...)
	}
	if len(starts) == 0 {
		starts = c.g.Roots()
	}
	reached := map[NodeID]bool{}
	for _, id := range c.g.Reachable(starts...) {
		reached[id] = true
	}
	return reached
}

// whereRunsStart names the nodes that a way to every node has to begin at.
func (c *checker) whereRunsStart() string {
	const most = 5
	var names []string
	for _, n := range c.triggerNodes[:min(most, len(c.triggerNodes))] {
		names = append(names, quote(n.id))
	}
	switch {
	case len(names) == 0:
		return "a node where a run starts"
	case len(c.triggerNodes) > most:
		names = append(names, "…")
	}
	return strings.Join(names, ", ") + ", where runs start"
}

// checkTriggerNode reports a trigger node that names a trigger which the version
// does not have, which is of another type, or which another node stands for.
func (c *checker) checkTriggerNode(about subject, i int) {
	n := c.g.nodes[i]
	if _, nested := c.g.parent(i); nested || !node.Type(n.Type).IsTrigger() {
		return
	}
	id, _ := c.steps[i].config["_triggerId"].(string)
	if id == "" { // its trigger may be made later; what is no string the schema reports
		return
	}
	about = about.member("_triggerId")
	trg, attached := c.trigger(id)
	if !attached {
		c.found.add(about, UnknownTrigger, "must be the id of a trigger of this version; there is no %s%s", quote(id), c.candidates(triggerType(n)))
		return
	}
	if trg.Type != triggerType(n) {
		c.found.add(about, WrongTriggerType, "must name a trigger of type %q; %s is of type %q", triggerType(n), quote(id), trg.Type)
		return
	}
	if first := c.g.startsAt(c.triggerNodes, trg)[0]; first != n.ID {
		c.found.add(about, domain.Duplicate, "must not name a trigger that starts at another node: %s starts at %s", quote(id), quote(first))
	}
}

func (c *checker) trigger(id string) (AttachedTrigger, bool) {
	for _, trg := range c.env.Triggers {
		if trg.ID == id {
			return trg, true
		}
	}
	return AttachedTrigger{}, false
}

// candidates lists the triggers that a node of this type could name.
func (c *checker) candidates(triggerType string) string {
	const most = 5
	var ids []string
	for _, trg := range c.env.Triggers {
		if trg.Type == triggerType && len(ids) < most {
			ids = append(ids, quote(trg.ID))
		}
	}
	if len(ids) == 0 {
		return "; it has none of type \"" + triggerType + "\""
	}
	return "; it has " + strings.Join(ids, ", ")
}

// warnOfAlikeTriggers warns of triggers that are fired by the same as one before them.
func (c *checker) warnOfAlikeTriggers() {
	first := make(map[[2]string]AttachedTrigger)
	for _, trg := range c.env.Triggers {
		if trg.FiredBy == "" {
			continue
		}
		key := [2]string{trg.Type, trg.FiredBy}
		other, alike := first[key]
		if !alike {
			first[key] = trg
			continue
		}
		c.warned.add(subject{path: domain.Member("triggers", trg.ID)}, AlikeTriggers,
			"is fired by %s, and so is %s: each of them starts a run", trg.FiredBy, quote(other.ID))
	}
}
