package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"
)

// A job goes on in another process when the one that works on it is killed, and each of its runs
// is repeated once.
func TestAJobSurvivesItsProcess(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		b.ok("migrate", "up")
		made := b.json("tenant", "create", "--name", "Acme")
		b.ok("tenant", "update", fmt.Sprint(made["tenantId"]), "--secret-per-minute", "1000000")
		j := jobClient{t, fmt.Sprint(made["secretKey"]), b.spawn("serve")}
		wf := j.send(http.MethodPost, "/workflows", `{"name":"Orders"}`)["id"]
		ver := j.send(http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[
			{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, wf))["id"]
		j.send(http.MethodPost, fmt.Sprintf("/workflow-versions/%v/publish", ver), "")
		const runs = 400
		for range runs {
			j.send(http.MethodPost, fmt.Sprintf("/workflows/%v/runs", wf), "")
		}
		j.until("all runs are completed", func() bool {
			return j.send(http.MethodGet, "/runs?status=completed&limit=1", "")["total"] == float64(runs)
		})

		job := fmt.Sprintf("/jobs/%v", j.send(http.MethodPost, "/runs/bulk", fmt.Sprintf(`{"action":"rerun","filter":{"workflowId":%q}}`, wf))["id"])
		var done any
		j.until("some runs are repeated", func() bool { done = j.send(http.MethodGet, job, "")["done"]; return done != 0.0 })
		if code := j.at.exit(t, os.Kill); code != -1 || done == float64(runs) {
			t.Fatalf("it ended with %d when %v runs were repeated", code, done)
		}
		j.at = b.spawn("serve")
		j.until("the job has ended", func() bool { return j.send(http.MethodGet, job, "")["status"] == "completed" })
		if ended := j.send(http.MethodGet, job, ""); ended["done"] != float64(runs) || ended["failed"] != 0.0 {
			t.Errorf("it ended as %v", ended)
		}
		repeats := make(map[any]int)
		for offset := 0; offset < 2*runs; offset += 100 {
			page, _ := j.send(http.MethodGet, fmt.Sprintf("/runs?limit=100&sortOrder=asc&offset=%d", offset), "")["items"].([]any)
			for _, item := range page {
				if one, _ := item.(map[string]any); one["rerunOf"] != nil {
					repeats[one["rerunOf"]]++
				}
			}
		}
		for id, n := range repeats {
			if n != 1 {
				t.Errorf("%v is repeated %d times", id, n)
			}
		}
		if len(repeats) != runs {
			t.Errorf("%d runs are repeated", len(repeats))
		}
	})
}

// jobClient calls a gateway.
type jobClient struct {
	*testing.T
	key string
	at  *process
}

// send makes a request that must succeed.
func (j *jobClient) send(method, path, body string) (doc map[string]any) {
	j.Helper()
	status, text := j.at.request(j.T, method, "/v1/gateway"+path, j.key, body)
	if status >= http.StatusMultipleChoices {
		j.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		j.Fatal(err)
	}
	return doc
}

func (j *jobClient) until(what string, holds func() bool) {
	j.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			j.Fatalf("it never came that %s: %s", what, j.at.stderr)
		}
	}
}
