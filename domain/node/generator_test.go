package node_test

import (
	"encoding/json"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// The values and schemas are drawn from few possibilities, so that they often
// meet.

func drawValue(rt *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(rt, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"", "a", "ab"}).Draw(rt, "string")
	case 1:
		return rapid.SampledFrom([]float64{0, 1, 1.5, 2}).Draw(rt, "number")
	case 2:
		return rapid.Bool().Draw(rt, "boolean")
	case 3:
		return nil
	case 4:
		items := make([]any, rapid.IntRange(0, 2).Draw(rt, "items"))
		for i := range items {
			items[i] = drawValue(rt, depth-1)
		}
		return items
	}
	object := map[string]any{}
	for _, name := range []string{"x", "y"} {
		if rapid.Bool().Draw(rt, "has "+name) {
			object[name] = drawValue(rt, depth-1)
		}
	}
	return object
}

func drawField(rt *rapid.T, label string) node.FieldSchema {
	var r domain.Rules
	f := node.ParseField(&r, label, drawDeclaration(rt, 2))
	if r.Violations() != nil {
		rt.Fatalf("drawn schema: %v", r.Violations())
	}
	return f
}

// drawDeclaration draws a valid declaration, with a default when one that was
// drawn fits.
func drawDeclaration(rt *rapid.T, depth int) node.Declaration {
	types := node.FieldTypes()
	if depth == 0 {
		types = []node.FieldType{node.String, node.Number, node.Boolean, node.Any, node.Enum}
	}
	d := node.Declaration{Type: rapid.SampledFrom(types).Draw(rt, "type")}
	if rapid.Bool().Draw(rt, "required") {
		d.Required = new(true)
	}
	low, high := drawBounds(rt)
	switch d.Type {
	case node.String:
		d.MinLength, d.MaxLength = low, high
	case node.Number:
		d.Min, d.Max = low, high
		if rapid.Bool().Draw(rt, "integer") {
			d.Integer = new(true)
		}
	case node.Enum:
		first := drawValue(rt, depth)
		d.Enum = []node.Literal{literal(rt, first), node.Literal(`"only here"`)}
	case node.Array:
		d.MinItems, d.MaxItems = low, high
		if rapid.Bool().Draw(rt, "has items") {
			d.Items = new(drawDeclaration(rt, depth-1))
		}
	case node.Object:
		for _, name := range []string{"x", "y"} {
			if rapid.Bool().Draw(rt, "declares "+name) {
				d.Properties = append(d.Properties, node.DeclaredField{Name: name, Declaration: drawDeclaration(rt, depth-1)})
			}
		}
		if rapid.Bool().Draw(rt, "closed") {
			d.AdditionalProperties = new(false)
		}
	}
	if value := drawValue(rt, depth); satisfies(parsed(d), value) {
		d.Default = literal(rt, value)
	}
	return d
}

func drawBounds(rt *rapid.T) (low, high *float64) {
	least := float64(rapid.IntRange(0, 2).Draw(rt, "low"))
	most := least + float64(rapid.IntRange(0, 2).Draw(rt, "span"))
	if rapid.Bool().Draw(rt, "has low") {
		low = &least
	}
	if rapid.Bool().Draw(rt, "has high") {
		high = &most
	}
	return low, high
}

func literal(rt *rapid.T, value any) node.Literal {
	text, err := json.Marshal(value)
	if err != nil {
		rt.Fatal(err)
	}
	return text
}

func parsed(d node.Declaration) node.FieldSchema {
	var r domain.Rules
	return node.ParseField(&r, "", d)
}

func satisfies(f node.FieldSchema, value any) bool {
	var r domain.Rules
	f.Check(&r, "", value)
	return r.Violations() == nil
}

// holdsEmptyArray finds the one case in which Fits is stricter than the values.
func holdsEmptyArray(value any) bool {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			if holdsEmptyArray(e) {
				return true
			}
		}
		return len(v) == 0
	case map[string]any:
		for _, e := range v {
			if holdsEmptyArray(e) {
				return true
			}
		}
	}
	return false
}
