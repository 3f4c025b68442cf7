package node

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/domain/tenant"
)

//go:embed catalogue/*.json
var catalogueFiles embed.FS

// catalogue holds the texts of the built-in nodes in one language.
type catalogue map[Type]texts

// texts are what people read about one node. Fields are keyed by their place:
// config.method, config.cases[].value, input.…, output.status.
type texts struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Fields      map[string]string   `json:"fields"`
	Titles      map[string]string   `json:"titles"` // of fields that editors show with one
	Labels      map[string][]string `json:"labels"` // of the values of an enum, in their order
}

// loadCatalogue reads the catalogue of a language. It panics, since the data is part of the
// program.
func loadCatalogue(l tenant.Language) catalogue {
	text, err := catalogueFiles.ReadFile("catalogue/" + string(l) + ".json")
	if err != nil {
		panic(fmt.Sprintf("node: no catalogue for the language %s: %v", l, err))
	}
	var c catalogue
	if err := json.Unmarshal(text, &c); err != nil {
		panic(fmt.Sprintf("node: the catalogue for the language %s is not valid: %v", l, err))
	}
	return c
}

// describe returns the declarations with each field's description, its title and the labels of
// its values from the catalogue.
func (t texts) describe(place string, declared Declarations) Declarations {
	out := declared.Clone()
	for i := range out {
		at := place + "." + out[i].Name
		if text, ok := t.Fields[at]; ok {
			out[i].Declaration.Description = &text
		}
		if title, ok := t.Titles[at]; ok {
			out[i].Declaration.show(titleMember, title)
		}
		if labels, ok := t.Labels[at]; ok {
			out[i].Declaration.show(enumLabelsMember, labels)
		}
		t.describeWithin(at, &out[i].Declaration)
	}
	return out
}

func (t texts) describeWithin(place string, d *Declaration) {
	if d.Properties != nil {
		d.Properties = t.describe(place, d.Properties)
	}
	if d.Items != nil {
		t.describeWithin(place+"[]", d.Items)
	}
}

// show adds a member that forms are drawn with.
func (d *Declaration) show(member string, value any) {
	text, _ := json.Marshal(value) // of strings
	d.Extra = append(d.Extra, ExtraMember{member, text})
}
