package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

const customID node.CustomID = "cn_01h455vb4pex5vsknk084sn02s"

func draft(t *testing.T) node.CustomDraft {
	return node.CustomDraft{
		Type: "crm.lookup:v1", Name: "Look up a customer", Description: "By e-mail address", Version: "1.2.0-rc.1",
		InputSchema:  declarations(t, `{"email": {"type": "string", "required": true, "pattern": "@"}}`),
		OutputSchema: declarations(t, `{"customer": {"type": "object"}}`),
		ConfigSchema: declarations(t, `{"limit": {"type": "number", "default": 10}}`),
		Endpoint:     "https://example.com/nodes?x=1", CanPause: true,
		Translations: map[tenant.Language]node.Translation{tenant.Spanish: {Name: "Buscar un cliente"}},
	}
}

func custom(t *testing.T) *node.Custom {
	t.Helper()
	c, err := node.NewCustom(customID, acme, draft(t), noon)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestANewCustomNodeKeepsWhatItWasGiven(t *testing.T) {
	d := draft(t)
	want := node.CustomState{
		ID: customID, Tenant: acme, Type: "crm.lookup:v1", Name: d.Name, Description: d.Description, Version: d.Version,
		InputSchema: d.InputSchema, OutputSchema: d.OutputSchema, ConfigSchema: d.ConfigSchema, Endpoint: d.Endpoint,
		CanPause: true, IsActive: true, Translations: d.Translations, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
	c := custom(t)
	if diff := cmp.Diff(want, c.State()); diff != "" {
		t.Errorf("new state differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, node.RestoreCustom(want).State()); diff != "" {
		t.Errorf("restored state differs (-want +got):\n%s", diff)
	}
	if c.ID() != want.ID || c.Tenant() != acme || c.Type() != want.Type || c.Version() != version(t, want.Version) ||
		c.Endpoint() != want.Endpoint || !c.IsActive() || c.Revision() != 1 {
		t.Errorf("an accessor disagrees with %+v", want)
	}
}

func TestACustomNodeMayBeBornInactive(t *testing.T) {
	d := draft(t)
	d.IsActive = new(false)
	c, err := node.NewCustom(customID, acme, d, noon)
	if err != nil || c.IsActive() {
		t.Errorf("err = %v, active = %v", err, c.IsActive())
	}
}

func TestTheStateOfACustomNodeCannotBeChangedFromOutside(t *testing.T) {
	d := draft(t)
	c, err := node.NewCustom(customID, acme, d, noon)
	if err != nil {
		t.Fatal(err)
	}
	want := custom(t).State()
	s := c.State()
	for _, ds := range []node.Declarations{d.InputSchema, s.InputSchema} {
		*ds[0].Declaration.Pattern = "changed"
	}
	d.Translations[tenant.Spanish], s.Translations[tenant.English] = node.Translation{}, node.Translation{Name: "x"}
	if diff := cmp.Diff(want, c.State()); diff != "" {
		t.Errorf("the state changed (-want +got):\n%s", diff)
	}
}

func TestACustomNodesEntryInTheRegistry(t *testing.T) {
	for name, c := range map[string]*node.Custom{"new": custom(t), "restored": node.RestoreCustom(custom(t).State())} {
		n := c.NodeType(tenant.Spanish)
		if n.Name != "Buscar un cliente" || n.Description != "By e-mail address" || n.Type != "crm.lookup:v1" ||
			n.Version.String() != "1.2.0-rc.1" || n.BuiltIn || !n.CanPause || n.Output.Len() != 1 {
			t.Errorf("%s: entry is %+v", name, n)
		}
		var r domain.Rules
		n.Input.Check(&r, "", map[string]any{"email": "nobody"})
		if diff := cmp.Diff([]string{"email must match the pattern @ (bad_format)"}, render(r.Violations())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]any{"limit": 10.0}, n.Config.ApplyDefaults(nil)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestNewCustomReportsEveryViolationAtOnce(t *testing.T) {
	_, err := node.NewCustom(customID, acme, node.CustomDraft{
		Type: "1st", Description: strings.Repeat("d", 1001), Version: "1.0",
		InputSchema:  declarations(t, `{"a": {"type": "string", "min": 1}}`),
		OutputSchema: declarations(t, `{"b": {"type": "enum"}}`),
		ConfigSchema: declarations(t, `{"c": {"type": "array", "items": {"type": "number", "default": "x"}}}`),
		Endpoint:     "ftp://example.com",
		Translations: map[tenant.Language]node.Translation{"fr": {Name: "Non"}, "es": {Name: strings.Repeat("n", 256)}},
	}, noon)
	want := []string{
		`type must begin with a letter and hold only letters, digits, "_", "-", "." and ":" (bad_format)`,
		`name must not be empty (required)`,
		`description must be at most 1000 characters long, not 1001 (too_long)`,
		`version must be a semantic version, such as 1.4.0 or 2.0.0-beta.1, not "1.0" (bad_format)`,
		`inputSchema.a.min must be left out: a field of type "string" has only the members type, description, required, default, minLength, maxLength, pattern (not_allowed)`,
		`outputSchema.b.enum must list at least one allowed value, unless dynamic is true (required)`,
		`configSchema.c.items.default must be a number, not a string (wrong_type)`,
		`endpoint must be an absolute http or https URL, such as https://example.com/nodes (bad_format)`,
		`translations.es.name must be at most 255 characters long, not 256 (too_long)`,
		`translations.fr must be left out: the languages are "en", "pt-BR" or "es" (unknown)`,
	}
	checkInvalid(t, err, want)
}

func TestWhatACustomNodeMayBear(t *testing.T) {
	for claim, c := range map[string]struct {
		change func(*node.CustomDraft)
		want   []string
	}{
		"no built-in's name":           {func(d *node.CustomDraft) { d.Type = "httpRequest" }, []string{`type must not be "httpRequest", which is a node of the platform (not_allowed)`}},
		"no trigger node's name":       {func(d *node.CustomDraft) { d.Type = "trigger_schedule" }, []string{`type must not be "trigger_schedule", which is a node of the platform (not_allowed)`}},
		"a type":                       {func(d *node.CustomDraft) { d.Type = "" }, []string{`type must not be empty (required)`}},
		"a type of 255 characters":     {func(d *node.CustomDraft) { d.Type = strings.Repeat("a", 255) }, nil},
		"no longer type":               {func(d *node.CustomDraft) { d.Type = strings.Repeat("a", 256) }, []string{`type must be at most 255 characters long, not 256 (too_long)`}},
		"no type in another alphabet":  {func(d *node.CustomDraft) { d.Type = "añb" }, []string{`type must begin with a letter and hold only letters, digits, "_", "-", "." and ":" (bad_format)`}},
		"a version":                    {func(d *node.CustomDraft) { d.Version = "" }, []string{`version must be a semantic version, such as 1.0.0 (required)`}},
		"no schemas":                   {func(d *node.CustomDraft) { d.InputSchema, d.OutputSchema, d.ConfigSchema = nil, nil, nil }, nil},
		"no endpoint":                  {func(d *node.CustomDraft) { d.Endpoint = "" }, nil},
		"a plain http endpoint":        {func(d *node.CustomDraft) { d.Endpoint = "http://10.0.0.1:8080" }, nil},
		"no relative endpoint":         {func(d *node.CustomDraft) { d.Endpoint = "/nodes" }, []string{`endpoint must be an absolute http or https URL, such as https://example.com/nodes (bad_format)`}},
		"no endpoint without a host":   {func(d *node.CustomDraft) { d.Endpoint = "https://:443/x" }, []string{`endpoint must be an absolute http or https URL, such as https://example.com/nodes (bad_format)`}},
		"no endpoint that is no URL":   {func(d *node.CustomDraft) { d.Endpoint = "https://exa mple.com" }, []string{`endpoint must be an absolute http or https URL, such as https://example.com/nodes (bad_format)`}},
		"an endpoint of 2048":          {func(d *node.CustomDraft) { d.Endpoint = "https://a/" + strings.Repeat("b", 2038) }, nil},
		"no longer endpoint":           {func(d *node.CustomDraft) { d.Endpoint = "https://a/" + strings.Repeat("b", 2039) }, []string{`endpoint must be at most 2048 characters long, not 2049 (too_long)`}},
		"no NUL in a translated text":  {func(d *node.CustomDraft) { d.Translations[tenant.English] = node.Translation{Description: "\x00"} }, []string{`translations.en.description must not contain the character U+0000 (bad_character)`}},
		"a name of up to 255 in UTF-8": {func(d *node.CustomDraft) { d.Name = strings.Repeat("é", 256) }, []string{`name must be at most 255 characters long, not 256 (too_long)`}},
	} {
		t.Run(claim, func(t *testing.T) {
			d := draft(t)
			c.change(&d)
			_, err := node.NewCustom(customID, acme, d, noon)
			checkInvalid(t, err, c.want)
		})
	}
}

func TestReviseChangesWhatMayChange(t *testing.T) {
	later := noon.Add(time.Hour)
	for claim, c := range map[string]struct {
		patch  node.CustomPatch
		change func(*node.CustomState)
	}{
		"texts, endpoint, activity and translations change freely": {
			node.CustomPatch{Name: new("New"), Description: new(""), Endpoint: new(""), IsActive: new(false),
				Translations: map[tenant.Language]node.Translation{}},
			func(s *node.CustomState) {
				s.Name, s.Description, s.Endpoint, s.IsActive = "New", "", "", false
				s.Translations = map[tenant.Language]node.Translation{}
			}},
		"a schema changes with a higher version": {
			node.CustomPatch{Version: new("1.2.0"), InputSchema: new(declarations(t, `{"id": {"type": "number"}}`))},
			func(s *node.CustomState) {
				s.Version, s.InputSchema = "1.2.0", declarations(t, `{"id": {"type": "number"}}`)
			}},
		"the ability to pause changes with a higher version": {
			node.CustomPatch{Version: new("2.0.0"), CanPause: new(false)},
			func(s *node.CustomState) { s.Version, s.CanPause = "2.0.0", false }},
		"the version may rise alone": {
			node.CustomPatch{Version: new("1.2.0-rc.2")}, func(s *node.CustomState) { s.Version = "1.2.0-rc.2" }},
		"the same values are no change of schema": {
			node.CustomPatch{Version: new("1.2.0-rc.1"), CanPause: new(true), ConfigSchema: new(declarations(t, `{"limit": {"default": 10.0, "type": "number"}}`))},
			func(*node.CustomState) {}},
		"nothing": {node.CustomPatch{}, func(*node.CustomState) {}},
	} {
		t.Run(claim, func(t *testing.T) {
			subject, want := custom(t), custom(t).State()
			want.UpdatedAt = later
			c.change(&want)
			if err := subject.Revise(c.patch, later); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, subject.State()); diff != "" {
				t.Errorf("state differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.InputSchema, subject.NodeType(tenant.English).Input.Declarations()); diff != "" {
				t.Errorf("the entry's input schema differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviseRefuses(t *testing.T) {
	const immutable = "version must be higher than 1.2.0-rc.1, because inputSchema, outputSchema, configSchema or canPause changes (conflicting)"
	wider := new(declarations(t, `{"email": {"type": "string"}}`))
	for claim, c := range map[string]struct {
		patch node.CustomPatch
		want  []string
	}{
		"another input schema in the same version":  {node.CustomPatch{InputSchema: wider}, []string{immutable}},
		"another output schema in the same version": {node.CustomPatch{OutputSchema: wider}, []string{immutable}},
		"another config schema in the same version": {node.CustomPatch{ConfigSchema: wider}, []string{immutable}},
		"another ability in the same version":       {node.CustomPatch{CanPause: new(false)}, []string{immutable}},
		"another schema in a lower version":         {node.CustomPatch{InputSchema: wider, Version: new("1.2.0-alpha")}, []string{immutable}},
		"another schema where only metadata differ": {node.CustomPatch{InputSchema: wider, Version: new("1.2.0-rc.1+b")}, []string{immutable}},
		"a lower version":                           {node.CustomPatch{Version: new("1.1.9")}, []string{"version must be 1.2.0-rc.1 or higher, not 1.1.9 (conflicting)"}},
		"a version of the same rank":                {node.CustomPatch{Version: new("1.2.0-rc.1+b")}, []string{"version must be 1.2.0-rc.1 or higher, not 1.2.0-rc.1+b (conflicting)"}},
		"a field declared twice":                    {node.CustomPatch{ConfigSchema: new(declarations(t, `{"limit": {"type": "string"}, "limit": {"type": "number", "default": 10}}`))}, []string{"configSchema.limit must be declared once (duplicate)"}},
		"everything that is wrong, at once": {
			node.CustomPatch{Name: new(""), Description: new(strings.Repeat("d", 1001)), Version: new("x"), Endpoint: new("x"),
				InputSchema:  new(declarations(t, `{"a": {"type": "text"}}`)),
				Translations: map[tenant.Language]node.Translation{"de": {}}},
			[]string{
				"name must not be empty (required)",
				"description must be at most 1000 characters long, not 1001 (too_long)",
				`version must be a semantic version, such as 1.4.0 or 2.0.0-beta.1, not "x" (bad_format)`,
				`inputSchema.a.type must be "string", "number", "boolean", "any", "object", "array" or "enum", not "text" (not_allowed)`,
				"endpoint must be an absolute http or https URL, such as https://example.com/nodes (bad_format)",
				`translations.de must be left out: the languages are "en", "pt-BR" or "es" (unknown)`,
			}},
	} {
		t.Run(claim, func(t *testing.T) {
			subject := custom(t)
			checkInvalid(t, subject.Revise(c.patch, noon.Add(time.Hour)), c.want)
			if diff := cmp.Diff(custom(t).State(), subject.State()); diff != "" {
				t.Errorf("a refused revision changed the state:\n%s", diff)
			}
		})
	}
}

// What a later release forbids does not make a stored node unreadable, nor keep
// its owner from changing something else.
func TestAStoredCustomNodeIsTrusted(t *testing.T) {
	s := custom(t).State()
	s.Type, s.Endpoint = "httpRequest", "gopher://old"
	s.InputSchema = node.Declarations{{Name: "a", Declaration: node.Declaration{Type: "money", Pattern: new("(?=x)")}}}
	c := node.RestoreCustom(s)
	if diff := cmp.Diff(s, c.State()); diff != "" {
		t.Errorf("restored state differs (-want +got):\n%s", diff)
	}
	if a, ok := c.NodeType(tenant.English).Input.Field("a"); !ok || a.Type() != node.Any {
		t.Errorf("field a is %s, known %v", a.Type(), ok)
	}
	if err := c.Revise(node.CustomPatch{Name: new("New")}, noon); err != nil {
		t.Errorf("Revise: %v", err)
	}
}

func checkInvalid(t *testing.T, err error, want []string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("err = %v, want none", err)
		}
		return
	}
	var got *domain.Error
	if !errors.As(err, &got) || got.Kind != domain.Invalid || got.Code != "custom_node_invalid" {
		t.Fatalf("err = %v, want custom_node_invalid", err)
	}
	if diff := cmp.Diff(want, render(got.Violations)); diff != "" {
		t.Errorf("violations differ (-want +got):\n%s", diff)
	}
}
