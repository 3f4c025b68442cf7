package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

const (
	acme  tenant.ID = "tenant_01h455vb4pex5vsknk084sn02q"
	other tenant.ID = "tenant_01h455vb4pex5vsknk084sn02r"
)

// stored is a custom node as a store gives it back.
func stored(owner tenant.ID, nodeType node.Type, version string, change ...func(*node.CustomState)) *node.Custom {
	s := node.CustomState{
		ID: "cn_01h455vb4pex5vsknk084sn02s", Tenant: owner, Type: nodeType, Name: "Own " + string(nodeType),
		Version: version, IsActive: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	for _, c := range change {
		c(&s)
	}
	return node.RestoreCustom(s)
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var platformEntries = []string{"input 1.1.0", "wait 1.0.0", "waitForEvent 1.0.0", "condition 1.0.0", "switch 1.0.0", "transform 1.0.0", "httpRequest 1.1.0", "callWorkflow 1.0.0", "forEach 1.0.0", "return 1.0.0", "code 1.0.0"}

func TestTheRulesOfTheNodeRegistry(t *testing.T) {
	inactive := func(s *node.CustomState) { s.IsActive = false }
	for rule, c := range map[string]struct {
		disabled []string
		custom   []*node.Custom
		want     []string
	}{
		"1: only nodes available to the tenant are returned": {
			custom: []*node.Custom{stored(other, "theirs", "1.0.0"), stored(acme, "ours", "1.0.0")},
			want:   append(slices.Clip(platformEntries), "ours 1.0.0"),
		},
		"2: built-in nodes that the tenant disabled are omitted": {
			disabled: []string{"input", "httpRequest", "trigger_webhook", "mine"},
			custom:   []*node.Custom{stored(acme, "mine", "1.0.0")},
			want:     append(slices.DeleteFunc(slices.Clone(platformEntries[1:]), func(e string) bool { return e == "httpRequest 1.1.0" }), "mine 1.0.0"),
		},
		"3: custom nodes are returned only when active, and only to their owner": {
			custom: []*node.Custom{stored(acme, "off", "1.0.0", inactive), stored(other, "off", "1.0.0"), stored(acme, "on", "1.0.0")},
			want:   append(slices.Clip(platformEntries), "on 1.0.0"),
		},
		"5: the order is stable all the same, built-in nodes first, then by type and version": {
			custom: []*node.Custom{stored(acme, "b", "1.10.0"), stored(acme, "b", "1.9.0"), stored(acme, "a", "2.0.0"),
				stored(acme, "b", "1.9.0-rc.1"), stored(acme, "b", "1.9.0+y"), stored(acme, "b", "1.9.0+x")},
			want: append(slices.Clip(platformEntries), "a 2.0.0", "b 1.9.0-rc.1", "b 1.9.0", "b 1.9.0+x", "b 1.9.0+y", "b 1.10.0"),
		},
		"6: each version of a custom node is an entry, and the first claim to one stands": {
			custom: []*node.Custom{stored(acme, "a", "1.0.0"), stored(acme, "a", "1.1.0"), stored(acme, "a", "1.2.0", inactive),
				stored(acme, "a", "1.0.0", func(s *node.CustomState) { s.Name = "An impostor" })},
			want: append(slices.Clip(platformEntries), "a 1.0.0", "a 1.1.0"),
		},
	} {
		t.Run(rule, func(t *testing.T) {
			g := node.RegistryFor(acme, tenant.English, c.disabled, c.custom)
			var got []string
			for _, n := range g.Entries() {
				if n.Name == "An impostor" {
					t.Error("a second claim to a type and version was listed")
				}
				got = append(got, string(n.Type)+" "+n.Version.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" || g.Len() != len(got) {
				t.Errorf("entries differ, Len = %d (-want +got):\n%s", g.Len(), diff)
			}
		})
	}
}

func TestRule4NamesAndDescriptionsAreTranslated(t *testing.T) {
	custom := []*node.Custom{stored(acme, "crm", "1.0.0", func(s *node.CustomState) {
		s.Name, s.Description = "Customers", "Looks customers up."
		s.Translations = map[tenant.Language]node.Translation{
			tenant.BrazilianPortuguese: {Name: "Clientes", Description: "Consulta clientes."},
			tenant.Spanish:             {Description: "Consulta los clientes."},
		}
	})}
	for language, want := range map[tenant.Language][4]string{
		tenant.English:             {"Condition", "Evaluates an expression, passes its input on and continues on the branch “true” or “false”.", "Customers", "Looks customers up."},
		tenant.BrazilianPortuguese: {"Condição", "Avalia uma expressão, repassa a entrada e continua no ramo “true” ou “false”.", "Clientes", "Consulta clientes."},
		tenant.Spanish:             {"Condición", "Evalúa una expresión, pasa su entrada al siguiente nodo y continúa por la rama «true» o «false».", "Customers", "Consulta los clientes."},
	} {
		entries := node.RegistryFor(acme, language, nil, custom).Entries()
		condition, crm := entries[3], entries[len(platformEntries)]
		got := [4]string{condition.Name, condition.Description, crm.Name, crm.Description}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", language, diff)
		}
	}
}

func TestRegistryLookup(t *testing.T) {
	g := node.RegistryFor(acme, tenant.Spanish, []string{"wait"}, []*node.Custom{stored(acme, "a", "1.1.0"), stored(other, "b", "1.0.0")})
	for claim, c := range map[string]struct {
		nodeType     node.Type
		version      string
		found, known bool
	}{
		"a built-in node":                         {"input", "1.0.0", true, true},
		"a built-in node in no version there is":  {"input", "1.0.1", false, true},
		"a disabled node":                         {"wait", "1.0.0", false, false},
		"a custom node":                           {"a", "1.1.0", true, true},
		"a custom node of other metadata":         {"a", "1.1.0+x", false, true},
		"another tenant's node":                   {"b", "1.0.0", false, false},
		"a trigger node, though it is not listed": {"trigger_schedule", "1.0.0", true, true},
		"a node that does not exist":              {"c", "1.0.0", false, false},
	} {
		n, found := g.Lookup(c.nodeType, version(t, c.version))
		if known := g.Knows(c.nodeType); found != c.found || known != c.known || found && n.Type != c.nodeType {
			t.Errorf("%s: found %v (%s), known %v", claim, found, n.Type, known)
		}
	}
}

func TestTheEntriesOfARegistryCannotBeChangedFromOutside(t *testing.T) {
	g := node.RegistryFor(acme, tenant.English, nil, nil)
	g.Entries()[0].Name = "changed"
	if got := g.Entries()[0].Name; got != "Input" {
		t.Errorf("name = %q", got)
	}
	if got := node.BuiltIns(tenant.English)[0].Name; got != "Input" {
		t.Errorf("the built-in node's name = %q", got)
	}
}

func TestTheZeroRegistryKnowsNothing(t *testing.T) {
	var g node.Registry
	if _, found := g.Lookup("input", version(t, "1.0.0")); found || g.Knows("input") || g.Entries() != nil {
		t.Error("the zero registry knows a node")
	}
}
