package node

import (
	"github.com/sluicehq/sluice/domain"
)

// Type identifies a kind of node within the registry of a tenant, such as
// "httpRequest": a letter, then letters, digits, "_", "-", "." and ":", 1 to 255
// characters in all.
type Type string

// Valid says whether the type is spelled as one.
func (t Type) Valid() bool {
	if t == "" || len(t) > maxName || !isLetter(t[0]) {
		return false
	}
	for i := range len(t) {
		switch c := t[i]; {
		case isLetter(c), isDigit(c), c == '_', c == '-', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}

// NodeType is one entry of the node registry (specification, "Node registry
// entry"). What it holds is immutable.
type NodeType struct {
	Type        Type
	Name        string
	Description string // empty when there is none
	Version     SemVer
	BuiltIn     bool // a node of the platform, not of a tenant
	CanPause    bool // it can pause a run
	Input       Schema
	Output      Schema
	Config      Schema
}

// CheckConfig records in r, under path, everything that is wrong with a node's
// configuration: what breaks the configuration schema and, for a built-in node,
// the rules that relate members to one another. Members that hold an expression
// are checked as the text they are.
func (n NodeType) CheckConfig(r *domain.Rules, path string, config map[string]any) {
	n.Config.Check(r, path, config)
	if !n.BuiltIn {
		return
	}
	switch n.Type {
	case Wait:
		checkWait(r, path, config)
	case Transform:
		checkTransform(r, path, config)
	case HTTPRequest:
		checkRequest(r, path, config)
	}
}
