package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/application/workflows"
)

// TestPublishing saves and publishes each graph in testdata/publish, and compares
// what stands against it with the file of the same name that ends in .golden.
func TestPublishing(t *testing.T) {
	files, err := filepath.Glob("testdata/publish/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d graphs: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			graph, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var options []option
			if bytes.Contains(graph, []byte(`"type": "code"`)) {
				options = append(options, withCode(t))
			}
			got := publish(newGateway(t, options...), graph)
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withCode has the sources of code nodes read by a process of its own.
func withCode(t *testing.T) option {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code := sandbox.New(sandbox.Options{Command: []string{program, serveCode}, Processes: budget.NewShared(1, 1)})
	t.Cleanup(code.Close)
	return func(_ *httpapi.Options, p *httpapi.Ports) {
		versions := p.Publishing.(*workflows.Versions).WithCode(code)
		p.Versions, p.Publishing, p.Completions = versions, versions, versions
	}
}

// publish saves a version with the graph and publishes it, in a tenant that has a
// custom node with inputs of its own. It returns what was found, a line each.
func publish(g *gateway, graph []byte) string {
	g.Helper()
	c := g.customer("Acme")
	made := g.send(http.MethodPost, "/v1/gateway/custom-nodes", c.secret, `{"type":"acme.score","name":"Score","version":"1.0.0",
		"inputSchema":{"order":{"type":"object","required":true},"extra":{"type":"number"}},"outputSchema":{"score":{"type":"number"}}}`)
	if made.status != http.StatusCreated {
		g.Fatalf("the custom node got %d: %s", made.status, made.body)
	}
	made = g.send(http.MethodPost, "/v1/gateway/custom-nodes", c.secret, `{"type":"acme.customer","name":"Customer","version":"1.0.0","outputSchema":{
		"name":{"type":"string","required":true},"age":{"type":"number","required":true},"note":{"type":"string"},
		"address":{"type":"object","required":true,"properties":{"city":{"type":"string","required":true}},"additionalProperties":false},
		"orders":{"type":"array","required":true,"items":{"type":"object","properties":{"total":{"type":"number","required":true}},"additionalProperties":false}}}}`)
	if made.status != http.StatusCreated {
		g.Fatalf("the second custom node got %d: %s", made.status, made.body)
	}
	saved := g.saveVersion(c, graph)
	if saved.status != http.StatusCreated {
		return "saving it is refused:\n" + findings(g.T, saved)
	}
	path := fmt.Sprint("/v1/gateway/workflow-versions/", saved.field(g.T, "id"))
	g.attachSchedule(c, path, fmt.Sprint(saved.field(g.T, "id")), graph)
	validated := g.send(http.MethodPost, path+"/validate", c.secret, "")
	published := g.send(http.MethodPost, path+"/publish", c.secret, "")
	if published.status == http.StatusOK {
		if validated.field(g.T, "valid") != true || published.field(g.T, "version.isActive") != true {
			g.Errorf("published, but validating says %s", validated.body)
		}
		return "published\n" + warnings(g.T, published)
	}
	if published.status != http.StatusBadRequest || validated.status != http.StatusOK || findings(g.T, published) != findings(g.T, validated) {
		g.Errorf("publishing got %d: %s\nvalidating got %d: %s", published.status, published.body, validated.status, validated.body)
	}
	return "publishing it is refused:\n" + findings(g.T, published)
}

// attachSchedule attaches a trigger of type schedule where the graph names one.
func (g *gateway) attachSchedule(c customer, path, version string, graph []byte) {
	g.Helper()
	const place = "{{schedule}}"
	if !bytes.Contains(graph, []byte(place)) {
		return
	}
	trg := g.createTrigger(c.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"Daily","type":"schedule","config":{}}`, version))
	graph = bytes.ReplaceAll(graph, []byte(place), []byte(fmt.Sprint(trg.field(g.T, "id"))))
	if got := g.send(http.MethodPatch, path, c.secret, string(graph)); got.status != http.StatusOK {
		g.Fatalf("editing the draft got %d: %s", got.status, got.body)
	}
}

func (g *gateway) saveVersion(c customer, graph []byte) answer {
	g.Helper()
	ver := g.send(http.MethodGet, fmt.Sprint("/v1/gateway/workflow-versions/", c.version), c.secret, "")
	body := append([]byte(fmt.Sprintf(`{"workflowId":%q,`, ver.field(g.T, "workflowId"))), bytes.TrimPrefix(graph, []byte("{"))...)
	return g.send(http.MethodPost, "/v1/gateway/workflow-versions", c.secret, string(body))
}

// finding is a detail or a warning of an answer.
type finding struct {
	Field, Code, Message, NodeID, EdgeID string
	Position                             *struct{ Line, Column int }
}

// findings lists the details and the warnings of an answer, a line each.
func findings(t *testing.T, a answer) string {
	t.Helper()
	var body struct{ Details []finding }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatal(err)
	}
	return lines("", body.Details) + warnings(t, a)
}

func warnings(t *testing.T, a answer) string {
	t.Helper()
	var body struct{ Warnings []finding }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatal(err)
	}
	return lines("warning: ", body.Warnings)
}

func lines(kind string, found []finding) string {
	var b strings.Builder
	for _, f := range found {
		at := ""
		if f.Position != nil {
			at = fmt.Sprintf(" %d:%d", f.Position.Line, f.Position.Column)
		}
		fmt.Fprintf(&b, "  %s%s%s [%s] %s\n", kind, f.Field, at, f.Code, f.Message)
	}
	return b.String()
}

func TestExpressionsAreCheckedAgainstWhatTriggersDeclare(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	saved := g.saveVersion(c, []byte(`{"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A",
		"config":{"transformType":"expression","expression":"[payload.order.totall, payload.note.trim(), payload.more.trim(), payload.order.x === 1, payload.order.y.trim()]"}}],"edges":[]}`))
	id := fmt.Sprint(saved.field(t, "id"))
	validate := func() string {
		return findings(t, g.send(http.MethodPost, "/v1/gateway/workflow-versions/"+id+"/validate", c.secret, ""))
	}
	if got := validate(); got != "" {
		t.Errorf("without a trigger: %s", got)
	}
	g.createTrigger(c.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"Order","type":"webhook","config":{"payloadSchema":{
		"order":{"type":"object","required":true,"properties":{"total":{"type":"number"}},"additionalProperties":false},"note":{"type":"string"}}}}`, id))
	const want = "  nodes[0].config.expression 1:16 [unknown_member] at line 1, column 16: payload.order has no member \"totall\": it is { total?: number }; did you mean total?\n" +
		"  warning: nodes[0].config.expression 1:37 [maybe_missing] at line 1, column 37: payload.note may be missing, for it is string | undefined; to call \"trim\" write ?. before it\n"
	if diff := cmp.Diff(want, validate()); diff != "" {
		t.Error(diff)
	}
	g.createTrigger(c.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"Anything","type":"webhook","config":{}}`, id))
	if got := validate(); got != "" {
		t.Errorf("with a trigger that takes anything: %s", got)
	}
}

func TestCallsAreCheckedAgainstWhatIsCalled(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	callee := g.saveVersion(c, []byte(`{"nodes":[{"id":"give","type":"return","version":"1.0.0","name":"Give","config":{"value":{"total":"{{ payload.order.total * 2 }}"}}}],"edges":[]}`))
	id, of := callee.field(t, "id"), callee.field(t, "workflowId")
	g.createTrigger(c.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"Order","type":"webhook","config":{"payloadSchema":{
		"order":{"type":"object","required":true,"properties":{"total":{"type":"number","required":true}}}}}}`, id))
	other := g.send(http.MethodPost, "/v1/gateway/workflows", c.secret, `{"name":"Caller"}`)
	caller := g.send(http.MethodPost, "/v1/gateway/workflow-versions", c.secret, fmt.Sprintf(`{"workflowId":%q,"nodes":[
		{"id":"none","type":"callWorkflow","version":"1.0.0","name":"None","config":{"workflowId":%[2]q,"input":{"order":null}}},
		{"id":"text","type":"callWorkflow","version":"1.0.0","name":"Text","config":{"workflowId":%[2]q,"input":{"order":{"total":"{{ payload.total }} EUR"}}}},
		{"id":"right","type":"callWorkflow","version":"1.0.0","name":"Right","config":{"workflowId":%[2]q,"input":{"order":{"total":"{{ payload.total }}"}}}},
		{"id":"read","type":"transform","version":"1.0.0","name":"Read","config":{"transformType":"expression","expression":"[input.totl, input.total.trim()]"}},
		{"id":"goes","type":"callWorkflow","version":"1.0.0","name":"Goes","config":{"workflowId":%[2]q,"wait":false,"input":{"order":{"total":5}}}},
		{"id":"id","type":"transform","version":"1.0.0","name":"Id","config":{"transformType":"expression","expression":"input.runId.map(x => x)"}}],
		"edges":[{"sourceNodeId":"right","targetNodeId":"read"},{"sourceNodeId":"goes","targetNodeId":"id"}]}`, other.field(t, "id"), of))
	validate := func() string {
		return findings(t, g.send(http.MethodPost, fmt.Sprint("/v1/gateway/workflow-versions/", caller.field(t, "id"), "/validate"), c.secret, ""))
	}
	const always = "  nodes[5].config.expression 1:13 [not_a_function] at line 1, column 13: input.runId is string, which has no method map\n"
	if diff := cmp.Diff(always, validate()); diff != "" {
		t.Errorf("of a version that is not active: %s", diff)
	}
	if got := g.send(http.MethodPost, fmt.Sprint("/v1/gateway/workflow-versions/", id, "/publish"), c.secret, ""); got.status != http.StatusOK {
		t.Fatalf("publishing got %d: %s", got.status, got.body)
	}
	const want = "  nodes[0].config.input [type_clash] must be what the triggers of the workflow that is called declare: it has a member \"order\" that is null where { total: number } is wanted\n" +
		"  nodes[1].config.input [type_clash] must be what the triggers of the workflow that is called declare: it has a member \"order\" that has a member \"total\" that is string where number is wanted\n" +
		always +
		"  warning: nodes[3].config.expression 1:8 [maybe_missing] at line 1, column 8: input has no member \"totl\", so it is always undefined: it is { total: number }; did you mean total?\n" +
		"  warning: nodes[3].config.expression 1:26 [not_a_function] at line 1, column 26: input.total is number, which has no method trim\n"
	if diff := cmp.Diff(want, validate()); diff != "" {
		t.Error(diff)
	}
}

func TestOfTwentyPublishesAtOnceOneVersionIsActive(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	graph, err := os.ReadFile("testdata/publish/everything_is_well.json")
	if err != nil {
		t.Fatal(err)
	}
	var workflow string
	var done sync.WaitGroup
	for range 20 {
		saved := g.saveVersion(c, graph)
		workflow = fmt.Sprint(saved.field(t, "workflowId"))
		done.Go(func() {
			path := fmt.Sprint("/v1/gateway/workflow-versions/", saved.field(t, "id"), "/publish")
			for range 2 { // again is a no-op, or makes it the active one again
				if got := g.send(http.MethodPost, path, c.secret, ""); got.status != http.StatusOK {
					t.Errorf("publishing got %d: %s", got.status, got.body)
				}
			}
		})
	}
	done.Wait()
	active := g.send(http.MethodGet, "/v1/gateway/workflow-versions?isActive=true&workflowId="+workflow, c.secret, "")
	if total := active.field(t, "total"); total != 1.0 {
		t.Errorf("%v versions are active", total)
	}
}

// publishAnother publishes another version of the fixture's workflow, so that there is one
// that was active before.
func (g *gateway) publishAnother(e fixture) {
	g.Helper()
	next := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, e.ids["workflows"]))
	path := fmt.Sprintf("/v1/gateway/workflow-versions/%s/publish", next.field(g.T, "id"))
	if got := g.send(http.MethodPost, path, e.secret, ""); got.status != http.StatusOK {
		g.Fatalf("publishing got %d: %s", got.status, got.body)
	}
}
