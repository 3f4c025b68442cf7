package node

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

// NodeType is one entry of the node registry. What it holds is immutable.
type NodeType struct {
	Type        Type
	Name        string
	Description string // empty when there is none
	Version     SemVer
	BuiltIn     bool // a node of the platform, not of a tenant
	Input       Schema
	Output      Schema
	Config      Schema

	Capabilities
}
