package node

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Every text there must be, and no other, exists in every language.
func TestEveryCatalogueSaysExactlyWhatTheNodesNeed(t *testing.T) {
	var want []string
	for _, n := range platform(tenant.English) {
		want = append(want, string(n.Type))
		for place, s := range map[string]Schema{"input": n.Input, "output": n.Output, "config": n.Config} {
			for _, at := range places(place, s.Declarations()) {
				want = append(want, string(n.Type)+" "+at)
			}
		}
	}
	slices.Sort(want)
	for _, l := range tenant.Languages() {
		var got []string
		for nodeType, said := range loadCatalogue(l) {
			got = append(got, string(nodeType))
			for at, text := range said.Fields {
				got = append(got, string(nodeType)+" "+at)
				checkText(t, l, string(nodeType)+" "+at, text)
			}
			checkText(t, l, string(nodeType)+" name", said.Name)
			checkText(t, l, string(nodeType)+" description", said.Description)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: keys differ (-needed +there):\n%s", l, diff)
		}
	}
}

// places lists where a field stands that needs a description: each but the items
// of an array, which the array's description covers.
func places(prefix string, ds Declarations) []string {
	var out []string
	for _, f := range ds {
		at := prefix + "." + f.Name
		out = append(out, at)
		out = append(out, places(at, f.Declaration.Properties)...)
		if f.Declaration.Items != nil {
			out = append(out, places(at+"[]", f.Declaration.Items.Properties)...)
		}
	}
	return out
}

func checkText(t *testing.T, l tenant.Language, where, text string) {
	t.Helper()
	if strings.TrimSpace(text) != text || text == "" {
		t.Errorf("%s: %s is %q", l, where, text)
	}
}

func TestNoTextWasLeftUntranslated(t *testing.T) {
	english := loadCatalogue(tenant.English)
	for _, l := range tenant.Languages()[1:] {
		for nodeType, said := range loadCatalogue(l) {
			if said.Name == english[nodeType].Name || said.Description == english[nodeType].Description {
				t.Errorf("%s: %s reads as in English", l, nodeType)
			}
			for _, at := range slices.Sorted(maps.Keys(said.Fields)) {
				if said.Fields[at] == english[nodeType].Fields[at] {
					t.Errorf("%s: %s %s reads as in English", l, nodeType, at)
				}
			}
		}
	}
}

func TestDescriptionsReachNestedFieldsInEveryLanguage(t *testing.T) {
	for l, want := range map[tenant.Language]string{
		tenant.English:             "The value that chooses this case. A text also fits the number, or true or false, that is spelled so.",
		tenant.BrazilianPortuguese: "O valor que escolhe este caso. Um texto também corresponde ao número, ou a true ou false, que se escreve assim.",
		tenant.Spanish:             "El valor que elige este caso. Un texto también coincide con el número, o con true o false, que se escribe así.",
	} {
		n := BuiltIns(l)[4]
		cases, _ := n.Config.Field("cases")
		value, _ := cases.Items().Properties().Field("value")
		if got := value.Description(); got != want {
			t.Errorf("%s: %s says %q, want %q", l, n.Type, got, want)
		}
	}
}
