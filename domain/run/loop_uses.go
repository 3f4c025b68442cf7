package run

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain/workflow"
)

// outerUses finds which outer nodes the body of a node looks at, and the bodies within: those whose
// ids are written out behind nodes, or any where something else stands there.
func outerUses(g workflow.Graph, of workflow.NodeID) (u uses) {
	inside := map[workflow.NodeID]bool{of: true}
	var texts []string
	nodes := g.Nodes()
	for more := true; more; {
		more = false
		for _, n := range nodes {
			if inside[n.Parent] && !inside[n.ID] {
				inside[n.ID], more = true, true
				config, _ := parse(json.RawMessage(n.Config.String())) // what is no JSON has no texts
				eachText(config, func(text string) { texts = append(texts, text) })
			}
		}
	}
	for _, e := range g.Edges() {
		if inside[e.SourceNodeID] && e.SourceNodeID != of {
			texts = append(texts, e.Guard())
		}
	}
	named := []workflow.NodeID{}
	for _, text := range texts {
		ids, all := namedIn(text)
		all = all || strings.Contains(text, `\u`) // any name may be spelled so
		u.nodes = u.nodes || all || len(ids) > 0
		if named = append(named, ids...); all {
			return uses{nodes: true}
		}
	}
	slices.Sort(named)
	u.named = slices.Compact(named)
	return u
}

// names says whether a node is one of those that are looked at.
func (u uses) names(id workflow.NodeID) bool { return u.named == nil || slices.Contains(u.named, id) }

// namedIn finds the names that stand behind a dot and nodes in a text; all says that something
// else stands behind nodes.
func namedIn(text string) (ids []workflow.NodeID, all bool) {
	for at := strings.Index(text, workflow.RootNodes); at >= 0; at = strings.Index(text, workflow.RootNodes) {
		within := at > 0 && isNameByte(text[at-1])
		text = text[at+len(workflow.RootNodes):]
		if within || text != "" && isNameByte(text[0]) {
			continue // it is part of another name
		}
		id := nameAfter(text)
		if id == "" {
			return nil, true
		}
		ids = append(ids, workflow.NodeID(id))
	}
	return ids, false
}

// nameAfter is the name in .name, ["name"] or ['name'] at the beginning of a text; empty for
// anything else.
func nameAfter(text string) string {
	if rest, dotted := strings.CutPrefix(text, "."); dotted {
		end := 0
		for end < len(rest) && isNameByte(rest[end]) {
			end++
		}
		if end < len(rest) && (rest[end] == '\\' || rest[end] >= 0x80) {
			return ""
		}
		return rest[:end]
	}
	for _, quote := range []string{`"`, `'`} {
		if rest, opened := strings.CutPrefix(text, "["+quote); opened {
			name, _, closed := strings.Cut(rest, quote+"]")
			if closed && !strings.ContainsAny(name, `\"'`) {
				return name
			}
		}
	}
	return ""
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
