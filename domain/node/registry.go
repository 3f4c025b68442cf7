package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Registry is the catalogue of node types that one tenant sees. It is immutable.
// The zero value knows no node.
type Registry struct {
	owner    tenant.ID
	disabled []string
	custom   []*Custom

	entries []NodeType
	known   map[identity]NodeType
	types   map[Type]bool
	weight  int64
}

// identity is what distinguishes node types in a registry.
type identity struct {
	nodeType Type
	version  SemVer
}

// RegistryFor returns what the owner sees: the built-in nodes that it has not disabled and the
// active ones of its own custom nodes, each version an entry of its own, of built-in
// nodes the newest one, with names and descriptions in the language. Custom nodes of other tenants are left
// out even when they are passed in. disabled names built-in nodes; it concerns
// neither trigger nodes nor custom nodes. When two custom nodes claim one type and
// version the first one stands.
func RegistryFor(owner tenant.ID, l tenant.Language, disabled []string, custom []*Custom) Registry {
	g := Registry{owner: owner, disabled: disabled, custom: custom, known: make(map[identity]NodeType), types: make(map[Type]bool)}
	all := platform(l)
	isDisabled := func(n NodeType) bool { return !n.Type.IsTrigger() && slices.Contains(disabled, string(n.Type)) }
	for _, n := range all {
		if !isDisabled(n) {
			g.know(n)
		}
	}
	g.entries = slices.DeleteFunc(newest(all), func(n NodeType) bool { return n.Type.IsTrigger() || isDisabled(n) })
	builtIn := len(g.entries)
	for _, c := range custom {
		if c.Tenant() != owner || !c.IsActive() {
			continue
		}
		n := c.NodeType(l)
		g.weight += c.Weight()
		if _, taken := g.Lookup(n.Type, n.Version); !taken {
			g.know(n)
			g.entries = append(g.entries, n)
		}
	}
	slices.SortFunc(g.entries[builtIn:], func(a, b NodeType) int {
		return cmp.Or(
			cmp.Compare(a.Type, b.Type),
			a.Version.Compare(b.Version),
			cmp.Compare(a.Version.String(), b.Version.String()), // versions that differ in build metadata only
		)
	})
	return g
}

// For returns what a caller of the owner sees of the registry, in the caller's language. It is
// the same one unless something narrows the caller's key.
func (g *Registry) For(who tenant.Caller) *Registry {
	n := who.Narrowing
	if n.NodeTypes == nil && n.Language == "" {
		return g
	}
	seen := *g
	if n.Language != "" {
		seen = RegistryFor(g.owner, n.Language, g.disabled, g.custom)
	}
	isHidden := func(t Type) bool { return !t.IsTrigger() && !n.AllowsNodeType(string(t)) }
	seen.entries = slices.DeleteFunc(slices.Clone(seen.entries), func(of NodeType) bool { return isHidden(of.Type) })
	seen.known, seen.types = maps.Clone(seen.known), maps.Clone(seen.types)
	maps.DeleteFunc(seen.known, func(of identity, _ NodeType) bool { return isHidden(of.nodeType) })
	maps.DeleteFunc(seen.types, func(of Type, _ bool) bool { return isHidden(of) })
	return &seen
}

func (g *Registry) know(n NodeType) {
	g.known[identity{n.Type, n.Version}] = n
	g.types[n.Type] = true
}

// Entries lists the node types: the built-in ones in their customary order, then
// the custom ones by type and version. Trigger nodes are not listed.
func (g Registry) Entries() []NodeType { return slices.Clone(g.entries) }

// Len is the number of entries.
func (g Registry) Len() int { return len(g.entries) }

// registryBytes is what a registry takes without custom nodes.
const registryBytes = 16 << 10

// Weight is about how many bytes of memory the registry takes: what it holds of its own,
// and the schemas of its custom nodes.
func (g Registry) Weight() int64 { return registryBytes + g.weight }

// Lookup returns the node type of exactly this type and version. It also finds
// trigger nodes and older versions of built-in nodes, which versions may use although they are
// not listed.
func (g Registry) Lookup(t Type, v SemVer) (NodeType, bool) {
	n, ok := g.known[identity{t, v}]
	return n, ok
}

// Knows says whether there is a node of this type in any version, trigger nodes included.
func (g Registry) Knows(t Type) bool { return g.types[t] }
