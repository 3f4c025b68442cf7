package node

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Every text there must be, and no other, exists in every language.
func TestEveryCatalogueSaysExactlyWhatTheNodesNeed(t *testing.T) {
	var want []string
	for _, n := range newest(platform(tenant.English)) {
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
				checkText(t, l, string(nodeType)+" "+at+" as a title", said.Titles[at])
			}
			for at := range said.Titles {
				if _, described := said.Fields[at]; !described {
					t.Errorf("%s: %s %s has a title and no description", l, nodeType, at)
				}
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

// The values of an enum are shown by names for people, except for those that are the same everywhere.
func TestEveryValueToChooseHasALabelInEveryLanguage(t *testing.T) {
	labels := make(map[tenant.Language]map[string][]string)
	for _, l := range tenant.Languages() {
		labels[l] = make(map[string][]string)
		for nodeType, said := range loadCatalogue(l) {
			for at, of := range said.Labels {
				labels[l][string(nodeType)+" "+at] = of
				for _, label := range of {
					checkText(t, l, string(nodeType)+" "+at+" as a label", label)
				}
			}
		}
	}
	for l, said := range labels {
		want := make(map[string]int)
		for _, n := range platform(l) {
			for at, values := range choices("config", n.Config.Declarations()) {
				if want[string(n.Type)+" "+at] = values; n.Type == HTTPRequest { // methods
					delete(want, string(n.Type)+" "+at)
				}
			}
		}
		got := make(map[string]int)
		for at, of := range said {
			if got[at] = len(of); l != tenant.English && slices.Equal(of, labels[tenant.English][at]) {
				t.Errorf("%s: the labels of %s read as in English", l, at)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: numbers of labels differ (-needed +there):\n%s", l, diff)
		}
	}
}

// choices says how many values the enums among fields have.
func choices(prefix string, ds Declarations) map[string]int {
	found := make(map[string]int)
	for _, f := range ds {
		at := prefix + "." + f.Name
		if n := len(f.Declaration.Enum); n > 0 {
			found[at] = n
		}
		maps.Copy(found, choices(at, f.Declaration.Properties))
		if f.Declaration.Items != nil {
			maps.Copy(found, choices(at+"[]", f.Declaration.Items.Properties))
		}
	}
	return found
}

// Forms are drawn from the schemas of configurations: each field says as what and where.
func TestEveryFieldOfAConfigurationSaysHowItIsShown(t *testing.T) {
	for _, n := range platform(tenant.English) {
		checkShown(t, string(n.Type)+" config", n.Config.Declarations())
	}
}

// checkShown looks for the widget and the order of fields that are shown together. A list of
// objects is shown as the fields of its items.
func checkShown(t *testing.T, prefix string, ds Declarations) {
	t.Helper()
	for i, f := range ds {
		at, d := prefix+"."+f.Name, f.Declaration
		said := map[string]string{}
		for _, m := range d.Extra {
			said[m.Name] = string(m.Value)
		}
		nested := d.Properties
		if d.Items != nil {
			nested = d.Items.Properties
		}
		if len(nested) == 0 && !slices.Contains(widgets, strings.Trim(said[widgetMember], `"`)) {
			t.Errorf("%s has the widget %s", at, said[widgetMember])
		}
		if want := strconv.Itoa(i + 1); said[orderMember] != want {
			t.Errorf("%s has the order %s, not %s", at, said[orderMember], want)
		}
		checkShown(t, at, nested)
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
				if title := said.Titles[at]; title == english[nodeType].Titles[at] && title != "URL" && title != "Error" {
					t.Errorf("%s: the title of %s %s reads as in English", l, nodeType, at)
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
