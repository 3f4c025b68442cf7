package run_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// A type that can be published and that nothing runs would fail every run of it.
func TestThereIsSomethingThatRunsEveryBuiltInNode(t *testing.T) {
	configs := map[node.Type]string{
		node.Input: `{"prompt":"Sure?","inputType":"text"}`, node.Wait: `{"delayMs":1}`, node.WaitForEvent: `{"event":"paid"}`,
		node.Condition: `{"condition":"true"}`, node.Switch: `{"expression":"1","cases":[{"value":1}]}`,
		node.Transform: `{"transformType":"expression","expression":"1"}`, node.HTTPRequest: `{"method":"GET","url":"https://example.com"}`,
		node.ForEach: `{"items":"[]"}`, node.CallWorkflow: `{"workflowId":"wf_1"}`, node.Return: `{"value":1}`, node.Code: `{"source":"return 1"}`,
	}
	for _, kind := range node.BuiltIns(tenant.English) {
		config, known := configs[kind.Type]
		if !known {
			t.Errorf("give %s a configuration here, with which it can be run", kind.Type)
		}
		w := begin(t, plan(t, nodes("a "+string(kind.Type)+" "+config), nil), start(`{}`))
		if f := w.run.Failure(); f != nil {
			t.Errorf("%s: %s %s", kind.Type, f.Code, f.Message)
		}
	}
}
