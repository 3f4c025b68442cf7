package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/process"
)

func TestReadConfigOfBuiltInNodes(t *testing.T) {
	for claim, c := range map[string]struct {
		nodeType     node.Type
		config, want string
	}{
		"blanks are absent": {node.Transform, `{"transformType": "", "expression": "{ a: 1 }", "mapping": {}, "source": null, "initial": ""}`, `{"expression": "{ a: 1 }"}`},
		"maps and lists of the wrong kind are blank too": {node.HTTPRequest, `{"url": "u", "headers": [], "query": {}, "expectStatus": null}`, `{"url": "u"}`},
		"an empty list or object may be an initial":      {node.Transform, `{"initial": [], "mapping": {"a": ""}}`, `{"initial": [], "mapping": {"a": ""}}`},
		"or a body":                             {node.HTTPRequest, `{"body": {}}`, `{"body": {}}`},
		"an empty body is none":                 {node.HTTPRequest, `{"body": ""}`, `{}`},
		"a blank is none of a switch's cases":   {node.Switch, `{"cases": [], "defaultNode": null}`, `{}`},
		"but may be the value of one":           {node.Switch, `{"cases": [{"value": "", "nodeId": null, "description": ""}, {"value": null}]}`, `{"cases": [{"value": ""}, {"value": null}]}`},
		"numbers may be text":                   {node.HTTPRequest, `{"timeoutMs": "5000", "body": "5", "expectStatus": "200"}`, `{"timeoutMs": 5000, "body": "5", "expectStatus": "200"}`},
		"as people spell them":                  {node.Wait, `{"delayMs": " +05.50\t", "until": " 5"}`, `{"delayMs": 5.5, "until": " 5"}`},
		"what spells no number stays text":      {node.Wait, `{"delayMs": "1 000", "until": "5"}`, `{"delayMs": "1 000", "until": "5"}`},
		"an instant may be a number":            {node.Wait, `{"until": 1772373600000, "": 5}`, `{"until": "1772373600000", "": 5}`},
		"but no other text":                     {node.WaitForEvent, `{"event": 5, "": 5}`, `{"event": 5, "": 5}`},
		"members that are not declared":         {node.Condition, `{"condition": "x", "note": "", "more": {}}`, `{"condition": "x", "note": "", "more": {}}`},
		"a value that is no blank":              {node.Input, `{"required": false, "timeoutMs": 0}`, `{"required": false, "timeoutMs": 0}`},
		"a trigger's node without its trigger":  {node.TriggerWebhook, `{"_triggerId": ""}`, `{}`},
		"a value of a wrong type is left alone": {node.Switch, `{"cases": [1, {"value": 2, "nodeId": 5}]}`, `{"cases": [1, {"value": 2, "nodeId": 5}]}`},
	} {
		t.Run(claim, func(t *testing.T) {
			n, _ := node.BuiltIn(c.nodeType)
			compareJSON(t, n.ReadConfig(exact(t, c.config)), c.want)
		})
	}
}

// exact is a configuration as it is decoded everywhere but in tests.
func exact(t *testing.T, text string) (config map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&config); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return config
}

func TestReadConfigOfCustomNodes(t *testing.T) {
	n := withConfig(t, `{
		"host": {"type": "object", "properties": {"name": {"type": "string", "required": true}, "port": {"type": "number"}}},
		"options": {"type": "object", "additionalProperties": true},
		"tags": {"type": "array", "items": {"type": "number"}},
		"emails": {"type": "array", "minItems": 1},
		"order": {"type": "enum", "enum": ["", "asc"]},
		"level": {"type": "enum", "enum": ["low"], "default": "low"},
		"list": {"type": "enum", "dynamic": true},
		"retries": {"type": "number", "required": true},
		"key": {"type": "string", "required": true}}`)
	for claim, c := range map[string]struct{ config, want string }{
		"an object with required members":              {`{"host": {}}`, `{}`},
		"within one":                                   {`{"host": {"name": "a", "port": ""}}`, `{"host": {"name": "a"}}`},
		"one whose members are all blank":              {`{"host": {"name": "", "port": null}}`, `{}`},
		"an object whose empty value means itself":     {`{"options": {}, "tags": []}`, `{"options": {}, "tags": []}`},
		"a list that must have an item":                {`{"emails": []}`, `{}`},
		"numbers in a list":                            {`{"tags": ["1", "-2.5e3", "x", "0x1", "", "12345678901234567890"]}`, `{"tags": [1, -2.5e3, "x", "0x1", "", 12345678901234567890]}`},
		"numbers as people spell them":                 {`{"tags": ["1.", ".5", "-.5", "+5", " 5 ", "007", "-00.50", "1.e+05", "0", "-0"]}`, `{"tags": [1, 0.5, -0.5, 5, 5, 7, -0.50, 1e+05, 0, -0]}`},
		"what only looks like them":                    {`{"tags": [".", "+", "-", "e5", ".e5", "1e", "1,5", "--5", "+-5", "1_0", "5 5", "٥", "Infinity"]}`, `{"tags": [".", "+", "-", "e5", ".e5", "1e", "1,5", "--5", "+-5", "1_0", "5 5", "٥", "Infinity"]}`},
		"a value of an enum is none":                   {`{"order": "", "level": "", "list": ""}`, `{"order": ""}`},
		"a required member that is blank is not there": {`{"retries": "", "key": null}`, `{}`},
	} {
		t.Run(claim, func(t *testing.T) { compareJSON(t, n.ReadConfig(tree(t, c.config)), c.want) })
	}
	var r domain.Rules
	n.CheckConfig(&r, "c", tree(t, `{"retries": "", "key": "", "host": {}, "emails": []}`))
	if diff := cmp.Diff([]string{"c.retries must be given: a number (required)", "c.key must be given: a string (required)"}, render(r.Violations())); diff != "" {
		t.Error(diff)
	}
}

// Processes of the first release read numbers as JSON spells them.
func TestAConfigurationNeedsAProcessThatReadsItAlike(t *testing.T) {
	custom := withConfig(t, `{"host": {"type": "object", "properties": {"port": {"type": "number"}}}, "tags": {"type": "array", "items": {"type": "number"}}, "name": {"type": "string"}}`)
	wait, _ := node.BuiltIn(node.Wait)
	newer := wait
	newer.Level = 7
	for claim, c := range map[string]struct {
		kind   node.NodeType
		config string
		want   process.Level
	}{
		"none at all":                   {wait, `{}`, 0},
		"numbers":                       {wait, `{"delayMs": 1.50e3}`, 0},
		"text as JSON spells numbers":   {custom, `{"host": {"port": "-1.50e3"}, "tags": ["0"]}`, 0},
		"another spelling of a number":  {wait, `{"delayMs": "+5"}`, 2},
		"in an object":                  {custom, `{"host": {"port": "05"}}`, 2},
		"in a list":                     {custom, `{"tags": ["1", " 1"]}`, 2},
		"of what is no number":          {custom, `{"name": "+5", "other": "+5"}`, 0},
		"an instant that is a number":   {wait, `{"until": 1772373600000}`, 2},
		"an instant that is text":       {wait, `{"until": "1772373600000"}`, 0},
		"a type that needs one anyway":  {newer, `{"delayMs": "+5"}`, 7},
		"what is no configuration":      {wait, `null`, 0},
		"a wrong type that stays wrong": {custom, `{"host": "+5"}`, 0},
	} {
		if got := c.kind.LevelOf(exact(t, c.config)); got != c.want {
			t.Errorf("%s: needs level %d, not %d", claim, got, c.want)
		}
	}
}

func TestReadingAConfigurationAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var r domain.Rules
		schema := node.ParseSchema(&r, "c", node.Declarations{{Name: "x", Declaration: drawDeclaration(rt, 2)}, {Name: "y", Declaration: drawDeclaration(rt, 2)}})
		n := node.NodeType{Config: schema, BuiltIn: rapid.Bool().Draw(rt, "built-in")}
		given := map[string]any{}
		for _, name := range []string{"x", "y", "z"} {
			given[name] = rapid.OneOf(rapid.SampledFrom([]any{"", nil, map[string]any{}, []any{}, "5", []any{"", "5"}}), rapid.Custom(func(rt *rapid.T) any { return drawValue(rt, 2) })).Draw(rt, "value")
		}
		before, once := text(rt, given), n.ReadConfig(given)
		if diff := cmp.Diff(once, n.ReadConfig(once)); diff != "" {
			rt.Error(diff)
		}
		if after := text(rt, given); after != before {
			rt.Errorf("what was read has become %s", after)
		}
	})
}

func text(rt *rapid.T, value any) string { return string(literal(rt, value)) }

func withConfig(t *testing.T, configSchema string) node.NodeType {
	t.Helper()
	var r domain.Rules
	n := node.NodeType{Type: "mine", Config: node.ParseSchema(&r, "configSchema", node.ReadDeclarations(&r, "configSchema", []byte(configSchema)))}
	if found := r.Violations(); len(found) > 0 {
		t.Fatal(strings.Join(render(found), "\n"))
	}
	return n
}

func compareJSON(t *testing.T, got any, want string) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree(t, want), tree(t, string(text))); diff != "" {
		t.Error(diff)
	}
}
