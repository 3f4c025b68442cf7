package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// coder works with versions that hold code.
type coder struct {
	*testing.T
	at     server
	secret string
}

func (c coder) post(path, body string) (status int, text string) {
	c.Helper()
	return c.at.request(c.T, http.MethodPost, "/v1/gateway"+path, c.secret, body)
}

func (c coder) made(path, body string) (id string) {
	c.Helper()
	status, text := c.post(path, body)
	var doc struct{ ID string }
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status >= http.StatusMultipleChoices {
		c.Fatalf("POST %s: %d %s", path, status, text)
	}
	return doc.ID
}

// version makes a version of a new workflow with a single node.
func (c coder) version(source string) (workflow, version string) {
	c.Helper()
	config, err := json.Marshal(map[string]any{"source": source})
	if err != nil {
		c.Fatal(err)
	}
	workflow = c.made("/workflows", fmt.Sprintf(`{"name":"Code of %d characters"}`, len(source)))
	return workflow, c.made("/workflow-versions", fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"code","version":"1.0.0","name":"A","config":%s}]}`, workflow, config))
}

// ran starts a workflow and waits for what the run shows in the end.
func (c coder) ran(workflow, end string) string {
	c.Helper()
	id := c.made("/workflows/"+workflow+"/runs", `{"eventData":{"list":[1,2,3]}}`)
	return c.at.await(c.T, "/v1/gateway/runs/"+id, c.secret, end)
}

func TestCodeFromItsPublicationToTheOutputOfARun(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		b.ok("migrate", "up")
		made := b.json("tenant", "create", "--name", "Acme")
		c := coder{t, b.start("serve"), fmt.Sprint(made["secretKey"])}

		_, broken := c.version("const a = 1\nreturn a +")
		status, text := c.post("/workflow-versions/"+broken+"/publish", "")
		if status == http.StatusOK || !strings.Contains(text, "line 2, column 11: SyntaxError: unexpected end") || !strings.Contains(text, "nodes[0].config.source") {
			t.Errorf("code that does not compile: %d %s", status, text)
		}

		workflow, version := c.version("console.log('sum of', input.list.length);\nreturn { sum: input.list.reduce((a, b) => a + b, 0), at: typeof now() }")
		status, text = c.post("/workflow-versions/"+version+"/simulate", `{"eventData":{"list":[4,5]}}`)
		if status != http.StatusOK || !strings.Contains(text, `"sum":9`) || !strings.Contains(text, `"log":["sum of 2"]`) || !strings.Contains(text, `"effects":[]`) {
			t.Errorf("simulated: %d %s", status, text)
		}
		if status, text = c.post("/workflow-versions/"+version+"/publish", ""); status != http.StatusOK {
			t.Fatalf("published: %d %s", status, text)
		}
		text = c.ran(workflow, `"status":"completed"`)
		if !strings.Contains(text, `"output":{"sum":6,"at":"number"}`) && !strings.Contains(text, `"output":{"at":"number","sum":6}`) || !strings.Contains(text, `"log":["sum of 3"]`) {
			t.Errorf("the run is %s", text)
		}

		failing, version := c.version("console.log('here')\nfor (const x of input.list) { if (x > 2) throw new RangeError('no ' + x) }")
		c.post("/workflow-versions/"+version+"/publish", "")
		text = c.ran(failing, `"status":"failed"`)
		if !strings.Contains(text, `"code":"code_failed"`) || !strings.Contains(text, "line 2, column") || !strings.Contains(text, "RangeError: no 3") || !strings.Contains(text, `"log":["here"]`) {
			t.Errorf("the run is %s", text)
		}
		c.at.stop()

		b.environ = append(b.environ, "SLUICE_CODE=off")
		c.at = b.start("serve")
		status, text = c.at.request(t, http.MethodGet, "/v1/gateway/custom-nodes/registry", c.secret, "")
		if status != http.StatusOK || strings.Contains(text, `"type":"code"`) {
			t.Errorf("the registry where code is off: %d %s", status, text)
		}
		if status, text = c.post("/workflow-versions/"+version+"/validate", ""); !strings.Contains(text, "unknown_node_type") {
			t.Errorf("validated where code is off: %d %s", status, text)
		}
		if text = c.ran(workflow, `"status":"failed"`); !strings.Contains(text, `"code":"code_disabled"`) {
			t.Errorf("the run where code is off is %s", text)
		}
	})
}
