package workflow

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// narrow applies the schema of the node itself to that of its type: the node's fields
// replace those of the type, which they must fit, and add to them.
// A field that the type requires stays required.
func (c *checker) narrow(about subject, document domain.Document, general node.Schema) node.Schema {
	if !isFieldMap(document) {
		return general
	}
	var r domain.Rules
	declared := node.ReadDeclarations(&r, about.path, []byte(document.String()))
	own := node.ParseSchema(&r, about.path, declared)
	for _, v := range r.Violations() {
		c.found.add(subject{path: v.Field, node: about.node}, v.Code, "%s", v.Message)
	}
	if len(r.Violations()) > 0 || own.Len() == 0 {
		return general
	}
	merged := general.Declarations()
	for i, f := range merged {
		special, replaced := own.Field(f.Name)
		if !replaced {
			continue
		}
		broad, _ := general.Field(f.Name)
		if fits, reason := node.Fits(special, broad); !fits {
			c.found.add(about.member(f.Name), TypeClash, "must narrow what the node type declares: it %s", reason)
			return general
		}
		merged[i].Declaration = special.Declaration()
		if broad.Required() {
			merged[i].Declaration.Required = domain.CopyOf(f.Declaration.Required)
		}
	}
	for _, f := range own.Declarations() {
		if _, exists := general.Field(f.Name); !exists {
			merged = append(merged, f)
		}
	}
	var ignored domain.Rules // both parts are valid; only together they may be too many fields
	if schema := node.ParseSchema(&ignored, about.path, merged); len(ignored.Violations()) == 0 {
		return schema
	}
	return general
}

// isFieldMap says whether a document can be a map of field names to field
// schemas. Editors keep other notes in the same place, JSON Schema for one.
func isFieldMap(d domain.Document) bool {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(d.String()), &members); err != nil {
		return false
	}
	for _, m := range members {
		if m[0] != '{' {
			return false
		}
	}
	return len(members) > 0
}
