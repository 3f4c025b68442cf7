package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// asking is a workflow whose first node gives away the addresses of the pages for the answers of all that ask.
var asking = []map[string]any{
	harness.Transform("links", `[link("form"), link("yes"), link("late")]`),
	question("form", map[string]any{
		"title": "Order {{ payload.id }}", "prompt": "May this be shipped?\n<script>document.title = \"stolen\"</script>", "assignee": "ana@example.com", "timeoutMs": 86_400_000,
		"form": map[string]any{
			"ok":    map[string]any{"type": "boolean", "title": "Approve", "required": true, "order": 1},
			"count": map[string]any{"type": "number", "title": "How many", "description": "Whole pieces only", "integer": true, "min": 1, "required": true, "order": 2},
			"way":   map[string]any{"type": "enum", "title": "Way", "enum": []string{"air", "sea"}, "enumLabels": []string{"By air", "By sea"}, "order": 3},
			"short": map[string]any{"type": "string", "title": "Reference", "maxLength": 40, "default": "none", "order": 4},
			"note":  map[string]any{"type": "string", "title": "Note", "placeholder": "What the shop should know", "order": 5},
		},
	}),
	question("yes", map[string]any{"prompt": "Is this all right?", "inputType": "boolean"}),
	question("late", map[string]any{"prompt": "And this?"}),
}

func question(id string, config map[string]any) map[string]any {
	return map[string]any{"id": id, "type": "input", "version": "1.1.0", "name": id, "config": config}
}

// askedRun is a run that waits, with the addresses of its pages.
type askedRun struct {
	harness.Client
	id    string
	links []string
}

// startAsking starts a run of the workflow and waits until it asks.
func startAsking(ctx context.Context, g *harness.Gateway) (asked askedRun, err error) {
	ten, err := g.CreateTenant(ctx, "Acme")
	if err != nil {
		return asked, err
	}
	asked.Client = harness.Client{URL: g.URL, Key: ten.SecretKey, HTTP: http.DefaultClient}
	published, err := harness.Publish(ctx, asked.Post, "Ask", asking, []map[string]any{harness.Edge("links", "form"), harness.Edge("links", "yes"), harness.Edge("form", "late")})
	if err != nil {
		return asked, err
	}
	var started struct{ ID string }
	if err := asked.Post(ctx, "/workflow-versions/"+published.VersionID+"/runs", map[string]any{"payload": map[string]any{"id": 1042}}, &started); err != nil {
		return asked, err
	}
	asked.id = started.ID
	for {
		var shown struct {
			Nodes []struct {
				Status string
				Output json.RawMessage
			}
		}
		if err := asked.Get(ctx, "/runs/"+asked.id, &shown); err != nil {
			return asked, err
		}
		if len(shown.Nodes) > 2 && shown.Nodes[1].Status == "waiting" && shown.Nodes[2].Status == "waiting" {
			return asked, json.Unmarshal(shown.Nodes[0].Output, &asked.links)
		}
		select {
		case <-ctx.Done():
			return asked, ctx.Err()
		case <-time.After(20 * time.Millisecond): // the gateway is another process
		}
	}
}

func TestPagesForAnswersInABrowser(t *testing.T) {
	t.Parallel()
	executable := findBrowser(t)
	g := startGateway(t)
	asked, err := startAsking(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for i, link := range asked.links { // the browser goes to where the gateway listens, whatever its public address
		_, path, _ := strings.Cut(link, "/a/")
		asked.links[i] = g.URL + "/a/" + path
	}
	input, err := json.Marshal(map[string]any{
		"executable": executable, "form": asked.links[0], "pictures": os.Getenv("SLUICE_PICTURES"),
		"pages": map[string]string{"form": asked.links[0], "yes": asked.links[1], "late": asked.links[2], "unknown": g.URL + "/a/nothing"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "answers.mjs")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var found struct {
		Violations map[string][]string
		Texts      map[string]string
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for page, violations := range found.Violations {
		if isControl := strings.HasPrefix(page, "control"); isControl != (len(violations) > 0) {
			t.Errorf("axe says of %s: %q", page, violations)
		}
	}
	for page, want := range map[string][]string{
		"form":       {"Order 1042", "May this be shipped?\n<script>", "Please answer by", "How many (required)", "Whole pieces only", "Send answer"},
		"form-es-MX": {"Order 1042", "Enviar respuesta", "obligatorio"},
		"form-pt-BR": {"Enviar resposta", "obrigatório"},
		"yes":        {"A question for you", "Is this all right?", "Yes", "No"},
		"late":       {"has not been asked yet"},
		"unknown":    {"does not exist"},
		"mistakes":   {"Please check your answer", "How many: This must be a whole number.", "Approve: Please fill this in."},
		"focused":    {"f.count"},
		"answered":   {"Order 1042", "has been answered. Thank you.", "UTC · on this page"},
		"second":     {"has been answered", "UTC · on this page"},
	} {
		for _, text := range want {
			if !strings.Contains(found.Texts[page], text) {
				t.Errorf("the page %s lacks %q: %s", page, text, found.Texts[page])
			}
		}
	}
	var shown struct {
		Nodes []struct{ Output json.RawMessage }
	}
	if err := asked.Get(t.Context(), "/runs/"+asked.id, &shown); err != nil {
		t.Fatal(err)
	}
	const answer = `{"value":{"count":3,"note":"<b>Ünïcode</b>\nline","ok":true,"short":"none","way":"air"}}`
	var kept bytes.Buffer
	if err := json.Compact(&kept, shown.Nodes[1].Output); err != nil || kept.String() != answer {
		t.Errorf("the run was given %s, %v", shown.Nodes[1].Output, err)
	}
}
