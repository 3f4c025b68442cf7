package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// outside is what the gateways call: it refuses what is flaky and hooks, and lets slow calls wait,
// until it has recovered.
type outside struct {
	recovered chan struct{}

	mu    sync.Mutex
	calls map[string]map[string]bool // by path, the idempotency keys; of hooks the runs that completed
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	recovered := false
	select {
	case <-o.recovered:
		recovered = true
	default:
	}
	named := r.Header.Get("Idempotency-Key")
	if r.URL.Path == "/hook" {
		var told struct{ Data struct{ RunID string } }
		_ = json.Unmarshal(text, &told) // what is none is missing in the end
		named = told.Data.RunID
	}
	if r.URL.Path != "/hook" || recovered {
		if o.calls[r.URL.Path] == nil {
			o.calls[r.URL.Path] = make(map[string]bool)
		}
		o.calls[r.URL.Path][named] = true
	}
	o.mu.Unlock()
	switch {
	case recovered, r.URL.Path == "/tick":
		_, _ = io.WriteString(w, "{}")
	case r.URL.Path == "/slow":
		select {
		case <-o.recovered:
		case <-r.Context().Done(): // whoever called has gone
		}
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// named are what calls of a path bore.
func (o *outside) named(path string) map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]bool)
	for name := range o.calls[path] {
		all[name] = true
	}
	return all
}

// takeover is a database of the last release that this version takes over.
type takeover struct {
	upgrade
	outside  *outside
	secret   string
	triggers map[string]string // by the name of the workflow
	runs     map[string]string // which workflow each is of
	answered map[string]bool   // of the runs
}

// post sends a body that must be taken, and returns the answer.
func (k *takeover) post(p *process, path, body string) string {
	k.Helper()
	status, text := p.request(k.T, http.MethodPost, "/v1/gateway"+path, k.secret, body)
	if status >= http.StatusMultipleChoices {
		k.Fatalf("POST %s: %d %s", path, status, text)
	}
	return text
}

// id is the member of an answer.
func (k *takeover) id(text, member string) string {
	k.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc[member] == nil {
		k.Fatalf("there is no %s in %s", member, text)
	}
	return fmt.Sprint(doc[member])
}

// publish makes a workflow of two nodes with a trigger.
func (k *takeover) publish(p *process, name, node, config string) {
	k.Helper()
	version := k.id(k.post(p, "/workflow-versions", fmt.Sprintf(`{"workflowId": %q, "nodes": [{"id": "first", "name": "First", "version": "1.0.0", %s},
		{"id": "last", "name": "Last", "type": "transform", "version": "1.0.0", "config": {"transformType": "expression", "expression": "{ of: payload.n }"}}],
		"edges": [{"sourceNodeId": "first", "targetNodeId": "last"}]}`, k.id(k.post(p, "/workflows", fmt.Sprintf(`{"name": %q}`, name)), "id"), node)), "id")
	k.post(p, "/workflow-versions/"+version+"/publish", "")
	kind := "webhook"
	if strings.Contains(config, "cron") {
		kind = "schedule"
	}
	k.triggers[name] = k.id(k.post(p, "/triggers", fmt.Sprintf(`{"workflowVersionId": %q, "name": %q, "type": %q, "config": %s}`, version, name, kind, config)), "id")
}

// start starts runs of every workflow.
func (k *takeover) start(p *process, times int) {
	k.Helper()
	for name, trigger := range k.triggers {
		for range times {
			if name != "schedule" {
				n := len(k.runs)
				k.runs[k.id(k.post(p, "/triggers/"+trigger+"/webhook", fmt.Sprintf(`{"eventData": {"n": %d}, "entityId": "order-%d"}`, n, n)), "runId")] = name
			}
		}
	}
}

// shown is what the API shows of a run.
func (k *takeover) shown(p *process, id string) (r struct {
	Status string
	Nodes  []struct {
		NodeID, Status string
		Waiting        *struct{ ResumeToken string }
	}
	Context struct{ EntityID string }
}) {
	k.Helper()
	status, text := p.request(k.T, http.MethodGet, "/v1/gateway/runs/"+id, k.secret, "")
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != http.StatusOK {
		k.Fatalf("run %s: %d %s", id, status, text)
	}
	return r
}

// answer brings what paused runs of a workflow wait for, at most so many.
func (k *takeover) answer(p *process, workflow string, most int) {
	k.Helper()
	for id, of := range k.runs {
		if of != workflow || most == 0 || k.answered[id] {
			continue
		}
		p.server.await(k.T, "/v1/gateway/runs/"+id, k.secret, `"resumeToken":"`)
		for _, n := range k.shown(p, id).Nodes {
			if n.Waiting != nil {
				k.post(p, "/triggers/resume", fmt.Sprintf(`{"runId": %q, "resumeToken": %q, "input": true}`, id, n.Waiting.ResumeToken))
				k.answered[id] = true
				most--
				break
			}
		}
		p.server.await(k.T, "/v1/gateway/runs/"+id, k.secret, `"status":"completed"`)
	}
}

// rewind has the schedule caught up from so many minutes ago on, and waits until it has been.
func (k *takeover) rewind(minutes int) {
	k.Helper()
	k.exec(`UPDATE trigger_schedules SET dealt_with = t.since, next_at = t.since FROM (SELECT date_trunc('minute', now()) - make_interval(mins => $1) - interval '1 ms' AS since) AS t`, minutes)
	for deadline := time.Now().Add(testTimeout); k.count(`SELECT count(*) FROM trigger_schedules WHERE next_at <= now()`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.Fatalf("the schedule of %d minutes was not caught up", minutes)
		}
	}
}

// count asks the database for a number.
func (k *takeover) count(query string) (n int) {
	k.Helper()
	db, err := sql.Open("postgres", strings.TrimPrefix(k.older.environ[0], "SLUICE_DATABASE_URL="))
	if err != nil {
		k.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	if err := db.QueryRowContext(k.Context(), query).Scan(&n); err != nil {
		k.Fatal(err)
	}
	return n
}

// A database of the last release with runs in every state, schedules and undelivered webhooks is
// taken over while a gateway of that release goes on, and then alone.
func TestWhatTheLastReleaseHasBegunIsBroughtToItsEnd(t *testing.T) {
	skipUnderRace(t)
	world := &outside{recovered: make(chan struct{}), calls: make(map[string]map[string]bool)}
	at := httptest.NewServer(world)
	defer at.Close()
	b := newBinary(t, postgresURL(t))
	b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_WORKER_DRAIN=1s", "SLUICE_OPERATOR_TOKEN="+operatorToken)
	k := &takeover{upgrade: upgrade{T: t, older: b, newer: b}, outside: world, triggers: make(map[string]string), runs: make(map[string]string), answered: make(map[string]bool)}
	k.older.program = lastRelease(t)

	older := k.older.spawn("serve") // which migrates
	status, text := older.operate(t, http.MethodPost, "/v1/operator/tenants", `{"name": "Acme"}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	k.secret = k.id(text, "secretKey")
	k.post(older, "/webhook-endpoints", `{"url": "`+at.URL+`/hook", "events": ["run.completed"]}`)
	request := func(path string) string {
		return `"type": "httpRequest", "config": {"method": "POST", "url": "` + at.URL + path + `", "timeoutMs": 60000}`
	}
	k.publish(older, "slow", request("/slow"), `{}`)
	k.publish(older, "flaky", request("/flaky"), `{"retryPolicy": {"maxRetries": 10, "backoffMs": 1000, "maxBackoffMs": 10000}}`)
	k.publish(older, "ask", `"type": "input", "config": {"inputType": "boolean", "required": true}`, `{}`)
	k.publish(older, "rest", `"type": "wait", "config": {"delayMs": 3000}`, `{}`)
	k.publish(older, "schedule", request("/tick"), `{"scheduleConfig": {"cron": "* * * * *", "catchUp": "all"}}`)
	k.start(older, 3)
	k.rewind(10)
	k.answer(older, "ask", 1)

	// Both versions are there, on the schema of this one.
	k.newer.ok("migrate", "up")
	newer := k.newer.spawn("serve")
	k.lists(newer, "{[{1} {2}] 0}")
	k.start(older, 2)
	k.start(newer, 2)
	k.rewind(20)
	k.answer(newer, "ask", 2)
	k.answer(older, "ask", 1)

	// Then there is only this one.
	if code := older.exit(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("the last release ended with %d: %s", code, older.stderr)
	}
	k.start(newer, 1)
	k.rewind(30)
	close(world.recovered)
	k.answer(newer, "ask", len(k.runs))
	for id := range k.runs {
		newer.server.await(t, "/v1/gateway/runs/"+id, k.secret, `"status":"completed"`)
		for _, n := range k.shown(newer, id).Nodes {
			if n.Status != "completed" {
				t.Errorf("node %s of run %s, which completed, is %s", n.NodeID, id, n.Status)
			}
		}
	}
	k.auditSchedule(newer)
	k.exec(`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'pending'`) // instead of waiting
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(50 * time.Millisecond) {
		told, missing := world.named("/hook"), 0
		for id := range k.runs {
			if !told[id] {
				missing++
			}
		}
		if missing == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %d runs that completed nobody was told", missing)
		}
	}
	for path, workflow := range map[string]string{"/slow": "slow", "/flaky": "flaky"} {
		wanted := 0
		for _, of := range k.runs {
			if of == workflow {
				wanted++
			}
		}
		if got := len(world.named(path)); got != wanted {
			t.Errorf("calls of %s bear %d idempotency keys, not %d", path, got, wanted)
		}
	}
	if n := k.count(`SELECT count(*) FROM runs r WHERE status <> 'completed' OR seq <> (SELECT sum(json_array_length(CAST(h.entries AS json))) FROM run_history h WHERE h.tenant_id = r.tenant_id AND h.run_id = r.id)`); n != 0 {
		t.Errorf("%d runs have not completed, or have not the history that they count", n)
	}
}

// auditSchedule checks that each minute since the earliest is in the ledger, once and with a run
// that called outside.
func (k *takeover) auditSchedule(p *process) {
	k.Helper()
	if status, text := p.request(k.T, http.MethodPatch, "/v1/gateway/triggers/"+k.triggers["schedule"], k.secret, `{"isActive": false}`); status != http.StatusOK {
		k.Fatalf("%d %s", status, text)
	}
	for deadline := time.Now().Add(testTimeout); k.count(`SELECT count(*) FROM live_runs`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.Fatal("runs go on for ever")
		}
	}
	const ledger = ` FROM trigger_fires f`
	minutes := k.count(`SELECT count(DISTINCT scheduled_at)` + ledger)
	between := k.count(`SELECT CAST(1 + extract(epoch FROM max(scheduled_at) - min(scheduled_at)) / 60 AS integer)` + ledger)
	rows := k.count(`SELECT count(*)` + ledger)
	fired := k.count(`SELECT count(DISTINCT f.run_id)` + ledger + ` JOIN runs r ON r.tenant_id = f.tenant_id AND r.id = f.run_id WHERE r.status = 'completed'`)
	if minutes < 31 || minutes != between || minutes != rows || minutes != fired || minutes != len(k.outside.named("/tick")) {
		k.Errorf("the ledger holds %d of %d minutes in %d rows, %d runs of them completed and %d called", minutes, between, rows, fired, len(k.outside.named("/tick")))
	}
}
