package node

import "encoding/json"

// Equal says whether both declare the same, whatever the order of the fields and
// the spelling of numbers. A member that is left out differs from one that is
// written with the value it would have anyway.
func (ds Declarations) Equal(other Declarations) bool {
	a, aOK := ds.canonical()
	b, bOK := other.canonical()
	return aOK && bOK && a == b
}

// canonical is the same text for equal declarations; ok is false for those that
// have no JSON form.
func (ds Declarations) canonical() (text string, ok bool) {
	written, err := json.Marshal(ds)
	if err != nil {
		return "", false
	}
	tree, err := Literal(written).value()
	if err != nil {
		return "", false
	}
	return canonical(tree)
}
