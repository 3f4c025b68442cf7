package node

import (
	"strings"

	"github.com/sluicehq/sluice/domain/connection"
)

// Connection is the connection that a configuration names, and the member that names it: the
// first one of those whose values may only be connections. Both are
// empty where it names none. Of a custom node, whose older versions may hold anything there,
// only what looks like the id of a connection is one.
func (n NodeType) Connection(config map[string]any) (member, id string) {
	members := n.Connections(config)
	if len(members) == 0 {
		return "", ""
	}
	id, _ = config[members[0]].(string)
	return members[0], id
}

// Connections are the members of a configuration that name a connection.
func (n NodeType) Connections(config map[string]any) (members []string) {
	for name, f := range n.Config.All() {
		if text, _ := config[name].(string); f.IsSecret() && text != "" && (n.BuiltIn || strings.HasPrefix(text, connection.IDPrefix+"_")) {
			members = append(members, name)
		}
	}
	return members
}
