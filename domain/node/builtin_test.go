package node_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestTheBuiltInNodesAreTheseByNameAndVersion(t *testing.T) {
	type entry struct {
		Type     node.Type
		Name     string
		Version  string
		CanPause bool
	}
	var got []entry
	for _, n := range node.BuiltIns(tenant.English) {
		if !n.BuiltIn || n.Description == "" {
			t.Errorf("%s: BuiltIn = %v, Description = %q", n.Type, n.BuiltIn, n.Description)
		}
		got = append(got, entry{n.Type, n.Name, n.Version.String(), n.CanPause})
	}
	want := []entry{
		{node.Input, "Input", "1.1.0", true},
		{node.Wait, "Wait", "1.0.0", true},
		{node.WaitForEvent, "Wait for event", "1.0.0", true},
		{node.Condition, "Condition", "1.0.0", false},
		{node.Switch, "Switch", "1.0.0", false},
		{node.Transform, "Transform", "1.0.0", false},
		{node.HTTPRequest, "HTTP request", "1.1.0", false},
		{node.CallWorkflow, "Call workflow", "1.0.0", false},
		{node.ForEach, "For each", "1.0.0", false},
		{node.Return, "Return", "1.0.0", false},
		{node.Code, "Code", "1.0.0", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("built-in nodes differ (-want +got):\n%s", diff)
	}
}

func TestEveryConfigurationMemberIsDeclared(t *testing.T) {
	for nodeType, want := range map[node.Type][]string{
		node.Input:           {"title", "prompt", "inputType", "required", "form", "assignee", "timeoutMs"},
		node.Wait:            {"delayMs", "until"},
		node.WaitForEvent:    {"event", "timeoutMs"},
		node.Condition:       {"condition", "trueBranch", "falseBranch"},
		node.Switch:          {"expression", "cases", "defaultNode"},
		node.Transform:       {"transformType", "expression", "mapping", "source", "initial"},
		node.HTTPRequest:     {"method", "url", "headers", "query", "body", "timeoutMs", "expectStatus", "connection"},
		node.CallWorkflow:    {"workflowId", "input", "wait", "dedupeKey"},
		node.ForEach:         {"items", "concurrency", "onItemError"},
		node.Return:          {"value"},
		node.Code:            {"source", "timeoutMs", "memoryMb"},
		node.TriggerWebhook:  {"_triggerId"},
		node.TriggerSchedule: {"_triggerId"},
	} {
		n, ok := node.BuiltIn(nodeType)
		var got []string
		for name, f := range n.Config.All() {
			got = append(got, name)
			if f.Description() == "" {
				t.Errorf("%s: %s has no description", nodeType, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s (known: %v): members differ (-want +got):\n%s", nodeType, ok, diff)
		}
	}
}

func TestOnlyListedNodesCountAsBuiltIn(t *testing.T) {
	for name, want := range map[string]bool{"input": true, "httpRequest": true, "trigger_webhook": false, "Input": false, "mine": false, "": false} {
		if got := node.IsBuiltIn(name); got != want {
			t.Errorf("IsBuiltIn(%q) = %v", name, got)
		}
	}
	if _, ok := node.BuiltIn("mine"); ok {
		t.Error("BuiltIn knows a node that does not exist")
	}
}

func TestAnUnknownLanguageIsAnsweredInEnglish(t *testing.T) {
	if got := node.BuiltIns("tlh")[0].Name; got != "Input" {
		t.Errorf("name = %q, want Input", got)
	}
}

func TestBranches(t *testing.T) {
	for claim, c := range map[string]struct {
		nodeType node.Type
		config   string
		want     []string
	}{
		"a condition has two":                {node.Condition, `{}`, []string{"true", "false"}},
		"a switch has its cases and default": {node.Switch, `{"cases": [{"value": 1}, {"value": 2}]}`, []string{"case-0", "case-1", "default"}},
		"a switch without cases has default": {node.Switch, `{"cases": "none"}`, []string{"default"}},
		"another node has none":              {node.Transform, `{"cases": [1]}`, nil},
	} {
		if diff := cmp.Diff(c.want, node.Branches(c.nodeType, tree(t, c.config))); diff != "" {
			t.Errorf("%s:\n%s", claim, diff)
		}
	}
}

func TestNodesThatOnlyDecidePassTheirInputOn(t *testing.T) {
	var got []node.Type
	for _, n := range node.BuiltIns(tenant.English) {
		if n.PassesInput {
			got = append(got, n.Type)
		}
	}
	if diff := cmp.Diff([]node.Type{node.Wait, node.Condition, node.Switch}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckConfigOfBuiltInNodes(t *testing.T) {
	for claim, c := range map[string]struct {
		nodeType node.Type
		config   string
		want     []string
	}{
		"an input needs nothing":    {node.Input, `{}`, nil},
		"an input's kind is listed": {node.Input, `{"inputType": "date", "required": true, "timeoutMs": 999}`, []string{`c.inputType must be "text", "number", "email", "url" or "boolean", not "date" (not_allowed)`, "c.timeoutMs must be at least 1000, not 999 (too_small)"}},
		"an input's form is filled in by a person": {node.Input, `{"form": {"ok": {"type": "boolean"}, "tags": {"type": "array"}, "pick": {"type": "enum", "dynamic": true}, "key": {"type": "string", "secret": true}, "n": {"type": "numbr"}}}`, []string{
			`c.form.n.type must be "string", "number", "boolean", "any", "object", "array" or "enum", not "numbr" (not_allowed)`,
			"c.form.key.secret must be left out: answers are kept with the run (not_allowed)",
			"c.form.pick.dynamic must be left out: a person chooses among the values that are listed (not_allowed)",
			`c.form.tags.type must be "string", "number", "boolean" or "enum": a person cannot fill in anything else (not_allowed)`,
		}},
		"a wait may be a delay":      {node.Wait, `{"delayMs": 0}`, nil},
		"a wait may be until a time": {node.Wait, `{"until": "2026-01-31T09:00:00+05:45"}`, nil},
		"a wait is one of both":      {node.Wait, `{}`, []string{"c.delayMs must be given, unless until is (required)"}},
		"a wait is not both":         {node.Wait, `{"delayMs": 1, "until": "2026-01-31T09:00:00Z"}`, []string{"c.until must be left out when delayMs is given (conflicting)"}},
		"a wait's time is computed":  {node.Wait, `{"until": "input.due"}`, nil},
		"a delay is whole":           {node.Wait, `{"delayMs": 1.5}`, []string{"c.delayMs must be a whole number, not 1.5 (not_whole)"}},
		"an event is named":          {node.WaitForEvent, `{}`, []string{"c.event must be given: a string (required)"}},
		"a condition has one":        {node.Condition, `{}`, []string{"c.condition must be given: a string (required)"}},
		"a condition is not empty":   {node.Condition, `{"condition": ""}`, []string{"c.condition must be given: a string (required)"}},
		"editors' branch targets":    {node.Condition, `{"condition": "true", "trueBranch": "a", "falseBranch": "b", "x": 1}`, nil},
		"a switch compares cases": {node.Switch, `{"expression": "input", "cases": [{"value": null, "description": "none", "nodeId": "n"}, {}]}`,
			[]string{"c.cases[1].value must be given: any value (required)"}},
		"a switch needs both":               {node.Switch, `{}`, []string{"c.expression must be given: a string (required)", "c.cases must be given: an array (required)"}},
		"a transform has an expression":     {node.Transform, `{"expression": "input"}`, nil},
		"a transform may have a mapping":    {node.Transform, `{"mapping": {"a": "input.b"}}`, nil},
		"a map may have a mapping":          {node.Transform, `{"transformType": "map", "source": "input.items", "mapping": {"a": "input.b"}}`, nil},
		"a transform needs one of both":     {node.Transform, `{"expression": ""}`, []string{"c.expression must be given, unless mapping is (required)"}},
		"a transform is not both":           {node.Transform, `{"transformType": "map", "expression": "x", "mapping": {"a": "x"}}`, []string{"c.mapping must be left out when expression is given (conflicting)"}},
		"a filter needs an expression":      {node.Transform, `{"transformType": "filter", "mapping": {"a": "x"}}`, []string{"c.expression must be given for this transformType (required)", "c.mapping must be left out for this transformType (conflicting)"}},
		"a reduce has an expression":        {node.Transform, `{"transformType": "reduce", "expression": "acc + item", "initial": 0}`, nil},
		"an unknown transform is just that": {node.Transform, `{"transformType": "sort"}`, []string{`c.transformType must be "expression", "map", "filter" or "reduce", not "sort" (not_allowed)`}},
		"a request needs a url":             {node.HTTPRequest, `{}`, []string{"c.url must be given: a string (required)"}},
		"a request in full": {node.HTTPRequest, `{"method": "PUT", "url": "https://example.com/{{ input.id }}", "headers": {"X-A": "b"}, "query": {"q": "{{ input.q }}"},
			"body": {"a": [1]}, "timeoutMs": 300000, "expectStatus": [200, 404]}`, nil},
		"one status may be expected":   {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": 201}`, nil},
		"an expected status is a code": {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": "2xx"}`, []string{`c.expectStatus must be a status code from 100 to 599, or a range such as "200-299", not "2xx" (not_allowed)`}},
		"every expected status is one": {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": [99, 200.5, 600, 599]}`, []string{`c.expectStatus[0] must be a status code from 100 to 599, or a range such as "200-299", not 99 (not_allowed)`, `c.expectStatus[1] must be a status code from 100 to 599, or a range such as "200-299", not 200.5 (not_allowed)`, `c.expectStatus[2] must be a status code from 100 to 599, or a range such as "200-299", not 600 (not_allowed)`}},
		"no status may be expected":    {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": []}`, nil},
		"a status may be text":         {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": ["201", "200-299", 404]}`, nil},
		"a range of statuses is one": {node.HTTPRequest, `{"url": "https://example.com", "expectStatus": ["299-200", "200-", "-5", "2e2-3e2x"]}`, []string{
			`c.expectStatus[0] must be a status code from 100 to 599, or a range such as "200-299", not "299-200" (not_allowed)`,
			`c.expectStatus[1] must be a status code from 100 to 599, or a range such as "200-299", not "200-" (not_allowed)`,
			`c.expectStatus[2] must be a status code from 100 to 599, or a range such as "200-299", not "-5" (not_allowed)`,
			`c.expectStatus[3] must be a status code from 100 to 599, or a range such as "200-299", not "2e2-3e2x" (not_allowed)`}},
		"a request's method and time":   {node.HTTPRequest, `{"url": "http://u", "method": "get", "timeoutMs": 0}`, []string{`c.method must be "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD" or "OPTIONS", not "get" (not_allowed)`, "c.timeoutMs must be at least 1, not 0 (too_small)"}},
		"a trigger node needs nothing":  {node.TriggerWebhook, `{}`, nil},
		"a trigger node names a string": {node.TriggerSchedule, `{"_triggerId": 5}`, []string{"c._triggerId must be a string, not a number (wrong_type)"}},
	} {
		t.Run(claim, func(t *testing.T) {
			n, _ := node.BuiltIn(c.nodeType)
			var r domain.Rules
			n.CheckConfig(&r, "c", tree(t, c.config))
			if diff := cmp.Diff(c.want, render(r.Violations())); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheRulesOfBuiltInNodesAreNotThoseOfCustomOnes(t *testing.T) {
	var r domain.Rules
	node.NodeType{Type: node.Wait}.CheckConfig(&r, "c", nil)
	if r.Violations() != nil {
		t.Errorf("violations: %v", r.Violations())
	}
}

func TestDefaultsOfBuiltInNodes(t *testing.T) {
	for nodeType, want := range map[node.Type]string{
		node.Input:       `{"inputType": "text", "required": false}`,
		node.Transform:   `{"transformType": "expression"}`,
		node.HTTPRequest: `{"method": "GET", "timeoutMs": 30000}`,
		node.Wait:        `{}`,
	} {
		n, _ := node.BuiltIn(nodeType)
		if diff := cmp.Diff(tree(t, want), n.Config.ApplyDefaults(nil)); diff != "" {
			t.Errorf("%s:\n%s", nodeType, diff)
		}
	}
}

func TestAnswerSchema(t *testing.T) {
	for claim, c := range map[string]struct {
		config string
		answer any
		want   []string
	}{
		"text is the default":           {`{}`, "", nil},
		"text is a string":              {`{"inputType": "text"}`, 5.0, []string{"a must be a string, not a number (wrong_type)"}},
		"a required text is not empty":  {`{"required": true}`, "", []string{"a must not be empty (required)"}},
		"a number":                      {`{"inputType": "number"}`, 5.5, nil},
		"a text is no number":           {`{"inputType": "number"}`, "5", []string{"a must be a number, not a string (wrong_type)"}},
		"a boolean":                     {`{"inputType": "boolean"}`, false, nil},
		"an address":                    {`{"inputType": "email"}`, "ana.souza+x@mail.example.com", nil},
		"an address in brackets":        {`{"inputType": "email"}`, "<ana@example.com>", []string{`a must match the pattern ^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$ (bad_format)`}},
		"no address":                    {`{"inputType": "email"}`, "ana@example", []string{`a must match the pattern ^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$ (bad_format)`}},
		"a web address":                 {`{"inputType": "url"}`, "HTTPS://example.com:8080?a=b#c", nil},
		"no web address":                {`{"inputType": "url"}`, "javascript:alert(1)", []string{`a must match the pattern ^[hH][tT][tT][pP][sS]?://[^\s/?#]+([/?#]\S*)?$ (bad_format)`}},
		"no web address without a host": {`{"inputType": "url"}`, "https:///x", []string{`a must match the pattern ^[hH][tT][tT][pP][sS]?://[^\s/?#]+([/?#]\S*)?$ (bad_format)`}},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			node.AnswerSchema(tree(t, c.config)).Check(&r, "a", c.answer)
			if diff := cmp.Diff(c.want, render(r.Violations())); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
	if node.AnswerSchema(nil).Required() || !node.AnswerSchema(map[string]any{"required": true}).Required() {
		t.Error("the answer is not required exactly when the configuration says so")
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}
