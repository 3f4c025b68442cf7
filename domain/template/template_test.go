package template_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/template"
	"github.com/sluicehq/sluice/domain/tenant"
)

func registry(l tenant.Language, disabled ...string) *node.Registry {
	return new(node.RegistryFor("tenant_1", l, disabled, nil))
}

func TestEveryTemplateHasTextsInEveryLanguage(t *testing.T) {
	names := map[string]tenant.Language{}
	for _, l := range tenant.Languages() {
		all := template.All(l, registry(l))
		if len(all) != 12 {
			t.Errorf("%s has %d templates", l, len(all))
		}
		for _, one := range all {
			if one.Name == "" || one.Description == "" || one.Sample.String() == "{}" || len(one.Workflows) == 0 {
				t.Errorf("%s, %s: %+v", l, one.ID, one)
			}
			if other, taken := names[one.Name]; taken {
				t.Errorf("%s is called the same in %s and %s", one.ID, l, other)
			}
			names[one.Name] = l
			for _, c := range one.Connections {
				if c.Description == "" || !c.Kind.Valid() {
					t.Errorf("%s, %s: the connection %+v", l, one.ID, c)
				}
			}
			for _, a := range one.Addresses {
				if a.Description == "" {
					t.Errorf("%s, %s: the address %+v", l, one.ID, a)
				}
			}
		}
	}
}

func TestWhatATemplateNamesHasToBeFilledIn(t *testing.T) {
	for _, one := range template.All(tenant.English, registry(tenant.English)) {
		if one.ID != "retry-with-fallback" {
			continue
		}
		names := map[string]connection.Kind{}
		for _, c := range one.Connections {
			names[c.Name] = c.Kind
		}
		if len(names) != 2 || names["Our API"] != connection.Bearer || names["Backup service"] != connection.Bearer || len(one.Addresses) != 3 {
			t.Errorf("%v %v", one.Connections, one.Addresses)
		}
	}
}

func TestATemplateWithADisabledNodeTypeIsLeftOut(t *testing.T) {
	all := template.All(tenant.Spanish, registry(tenant.Spanish, string(node.Code)))
	for _, one := range all {
		if slices.Contains([]template.ID{"monday-report", "github-triage", "form-with-validation"}, one.ID) {
			t.Errorf("%s computes with code", one.ID)
		}
	}
	if len(all) != 9 {
		t.Errorf("there are %d", len(all))
	}
}

func TestEveryFileBelongsToATemplate(t *testing.T) {
	var texts []string
	for _, one := range template.All(tenant.English, registry(tenant.English)) {
		for _, w := range one.Workflows {
			texts = append(texts, w.String())
		}
	}
	files, err := filepath.Glob("files/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err != nil || !slices.Contains(texts, string(text)) {
			t.Errorf("%s belongs to none: %v", name, err)
		}
	}
	if len(files) == 0 || strings.Contains(strings.Join(texts, ""), "conn_") {
		t.Error("a file has an identifier")
	}
}
