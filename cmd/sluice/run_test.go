package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoRuns has a tenant with a run that fails, since it calls an address that is refused, and one that waits for a person.
func twoRuns(t *testing.T, b binary, s server) (owner, key, failed, waiting string) {
	t.Helper()
	made := b.json("tenant", "create", "--name", "Acme")
	owner, key = fmt.Sprint(made["tenantId"]), fmt.Sprint(made["secretKey"])
	p := &publisher{T: t, key: key}
	start := func(node, status string) string {
		wf := fmt.Sprint(p.call(s, http.MethodPost, "/workflows", fmt.Sprintf(`{"name":%q}`, status))["id"])
		ver := fmt.Sprint(p.call(s, http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[%s],"edges":[]}`, wf, node))["id"])
		p.call(s, http.MethodPost, "/workflow-versions/"+ver+"/publish", "")
		id := fmt.Sprint(p.call(s, http.MethodPost, "/workflows/"+wf+"/runs", `{"entityId":"secret-entity","eventData":{"note":"secret-payload"}}`)["id"])
		s.await(t, "/v1/gateway/runs/"+id, key, `"status":"`+status+`"`)
		return id
	}
	failed = start(`{"id":"call","type":"httpRequest","version":"1.0.0","name":"Call","config":{"method":"GET","url":"http://127.0.0.1:1/secret-path"}}`, "failed")
	waiting = start(`{"id":"ask","type":"input","version":"1.0.0","name":"Ask","config":{"prompt":"secret-prompt","inputType":"boolean"}}`, "paused")
	return owner, key, failed, waiting
}

func TestTheOperatorsDayWithRuns(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		s := b.start("serve")
		owner, key, failed, waiting := twoRuns(t, b, s)
		other := fmt.Sprint(b.json("tenant", "create", "--name", "Beta")["tenantId"])
		lists := func(want []string, args ...string) {
			t.Helper()
			var got []string
			items, _ := b.json(append([]string{"run", "list"}, args...)...)["items"].([]any)
			for _, one := range items {
				fields, _ := one.(map[string]any)
				got = append(got, fmt.Sprint(fields["id"]))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run list %v: %s", args, diff)
			}
		}
		lists([]string{waiting, failed})
		lists([]string{failed}, "--status", "failed")
		lists([]string{failed}, "--limit", "1", "--offset", "1")
		lists([]string{waiting, failed}, "--tenant", owner)
		lists(nil, "--tenant", other)
		lists(nil, "--older-than", "1h")
		lists([]string{waiting, failed}, "--older-than", "1ms")

		one := b.json("run", "show", failed)
		wrong := map[string]any{"code": "address_refused", "nodeId": "call"}
		if node := one["nodes"].([]any)[0].(map[string]any); one["tenantId"] != owner || !cmp.Equal(one["error"], any(wrong)) || node["nodeId"] != "call" || node["attempts"] != 1.0 {
			t.Errorf("it is shown as %v", one)
		}
		texts := b.ok("run", "list") + b.ok("run", "show", failed) + b.ok("run", "show", waiting)
		for _, want := range []string{"2 of 2 runs", "address_refused at call", "ask   waiting  0"} {
			if !strings.Contains(texts, want) {
				t.Errorf("nothing says %q: %s", want, texts)
			}
		}
		if strings.Contains(texts, "secret-") {
			t.Errorf("what the tenant has in runs is shown: %s", texts)
		}

		if got := b.json("run", "retry", failed); got["id"] != failed || got["status"] == "failed" {
			t.Errorf("retried, it is %v", got)
		}
		s.await(t, "/v1/gateway/runs/"+failed, key, `"attempts":2`)
		s.await(t, "/v1/gateway/runs/"+failed, key, `"status":"failed"`)
		if got := b.ok("run", "cancel", waiting, "--reason", "the shop has closed"); !strings.Contains(got, "cancelled") {
			t.Errorf("cancelled, it is %s", got)
		}
		s.await(t, "/v1/gateway/runs/"+waiting, key, `"status":"cancelled"`)
		for line, want := range map[string]string{
			"show run_none":     "There is no such run.",
			"retry " + waiting:  "Only a failed run can be retried",
			"cancel " + waiting: "has ended already",
			"cancel run_none":   "There is no such run.",
		} {
			if code, out, said := b.run(append([]string{"run"}, strings.Fields(line)...)...); code != exitFailed || out != "" || !strings.Contains(said, want) {
				t.Errorf("run %s: %d, %q, %s", line, code, out, said)
			}
		}
	})
}

// A gateway that does nothing leaves runs waiting, which the list says.
func TestTheListOfRunsNamesTheOneThatWaitsForAWorker(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, postgresURL(t))
	b.environ = append(b.environ, "SLUICE_METRICS_LISTEN=127.0.0.1:0")
	s := b.start("serve", "--role", "api")
	metrics, ok := s.stderr.await(`"metricsUrl":"(http://[^"]+)"`)
	if !ok {
		t.Fatalf("the address of metrics is not told: %s", s.stderr)
	}
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	p := &publisher{T: t, key: fmt.Sprint(made["secretKey"])}
	first := fmt.Sprint(p.call(s, http.MethodPost, fmt.Sprintf("/workflows/%v/runs", made["workflowId"]), "")["id"])
	p.call(s, http.MethodPost, fmt.Sprintf("/workflows/%v/runs", made["workflowId"]), "")
	oldest, _ := b.json("run", "list")["oldestWaiting"].(map[string]any)
	if oldest["runId"] != first || oldest["tenantId"] != made["tenantId"] || oldest["since"] == "" {
		t.Errorf("it is %v, not %s", oldest, first)
	}
	if text := b.ok("run", "list"); !strings.Contains(text, fmt.Sprintf("%s of %v has waited for a worker since ", first, made["tenantId"])) {
		t.Error(text)
	}
	if text := b.ok("run", "show", first); !strings.Contains(text, "free from") {
		t.Error(text)
	}
	if _, text := get(t, metrics); !regexp.MustCompile(`(?m)^sluice_queue_oldest_waiting_seconds\{queue="runs"\} \d+(\.\d+|e-\d+)`).MatchString(text) {
		t.Errorf("its age is not measured: %s", text)
	}
}

func TestMistakesInCommandsOnRunsAreNamed(t *testing.T) {
	skipUnderRace(t)
	t.Parallel()
	b := newBinary(t, sqliteURL(t))
	b.ok("migrate", "up")
	for line, want := range map[string]string{
		"list --status stuck":        "--status is one of pending, running, paused, completed, failed, cancelled, not \"stuck\"",
		"list --older-than -1h":      "--older-than must be at least 0s",
		"list --older-than ages":     "invalid argument",
		"list --limit 0":             "--limit must be at least 1",
		"show":                       "needs the id of a run",
		"cancel":                     "needs the id of a run",
		"retry run_1 run_2":          "does not take \"run_2\"",
		"rerun run_1":                "no command \"rerun\"",
		"cancel run_1 --why because": "unknown flag",
	} {
		if code, out, said := b.run(append([]string{"run"}, strings.Fields(line)...)...); code != exitUsage || out != "" || !strings.Contains(said, want) {
			t.Errorf("run %s: %d, %q, %s", line, code, out, said)
		}
	}
}
