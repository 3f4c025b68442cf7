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
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Fields      map[string]string `json:"fields"`
	Titles      map[string]string `json:"titles"` // of fields that editors show with one
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

// describe returns the declarations with each field's description, and its title, from the
// catalogue.
func (t texts) describe(place string, declared Declarations) Declarations {
	out := declared.Clone()
	for i := range out {
		at := place + "." + out[i].Name
		if text, ok := t.Fields[at]; ok {
			out[i].Declaration.Description = &text
		}
		if title, ok := t.Titles[at]; ok {
			text, _ := json.Marshal(title) // of a string
			out[i].Declaration.Extra = append(out[i].Declaration.Extra, ExtraMember{titleMember, text})
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
