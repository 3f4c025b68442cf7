package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shapes are gateways of the last release and of this version on one database, and a tenant with
// runs of every shape.
type shapes struct {
	*testing.T
	released, current binary
	older, newer      *process
	secret            string
}

// send makes a request that must succeed and returns its answer.
func (s *shapes) send(p *process, method, path, body string) (doc map[string]any) {
	s.Helper()
	status, text := p.request(s.T, method, "/v1/gateway"+path, s.secret, body)
	if status >= http.StatusMultipleChoices {
		s.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			s.Fatal(err)
		}
	}
	return doc
}

// draft makes a workflow with one version, and returns the identifiers of both.
func (s *shapes) draft(p *process, name, graph string) (workflow, version string) {
	s.Helper()
	workflow = fmt.Sprint(s.send(p, http.MethodPost, "/workflows", fmt.Sprintf(`{"name":%q}`, name))["id"])
	return workflow, fmt.Sprint(s.send(p, http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,%s}`, workflow, graph))["id"])
}

// trigger publishes a version and attaches a trigger to it.
func (s *shapes) trigger(p *process, version, kind, config string) string {
	s.Helper()
	s.send(p, http.MethodPost, "/workflow-versions/"+version+"/publish", "")
	return fmt.Sprint(s.send(p, http.MethodPost, "/triggers", fmt.Sprintf(`{"workflowVersionId":%q,"name":"T","type":%q,"config":%s}`, version, kind, config))["id"])
}

// total waits until a list of runs has so many entries.
func (s *shapes) total(query string, want int) {
	s.Helper()
	s.newer.server.await(s.T, "/v1/gateway/runs?limit=1&"+query, s.secret, fmt.Sprintf(`"total":%d,`, want))
}

// rewind has the schedule of a trigger be due for the last so many minutes, as after an outage.
func (s *shapes) rewind(trigger string, minutes int) (from time.Time) {
	s.Helper()
	from = time.Now().UTC().Truncate(time.Minute).Add(-time.Duration(minutes) * time.Minute)
	s.exec(`UPDATE trigger_schedules SET dealt_with = $1, next_at = $1 WHERE trigger_id = $2`, from.Add(-time.Millisecond), trigger)
	return from
}

// exec runs a statement of SQL.
func (s *shapes) exec(statement string, args ...any) {
	s.Helper()
	(&upgrade{T: s.T, older: s.current}).exec(statement, args...)
}

// kill ends both gateways as a crash does, and starts others in their place.
func (s *shapes) kill() {
	s.Helper()
	for _, p := range []*process{s.older, s.newer} {
		if code := p.exit(s.T, syscall.SIGKILL); code != -1 {
			s.Errorf("it ended by itself with %d: %s", code, p.stderr)
		}
	}
	s.older, s.newer = s.released.spawn("serve"), s.current.spawn("serve")
}

const transformNode = `{"id":%q,"type":"transform","version":"1.0.0","name":"T","config":{"transformType":"expression","expression":%q}%s}`

// Runs and a schedule of the last release go on through the upgrade, and loops and calls run while
// its gateways are there and crash: nothing is lost, and nothing is done twice.
func TestRunsOfEveryShapeSurviveTheUpgrade(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	s := &shapes{T: t, released: b, current: b}
	s.released.program = lastRelease(t)
	for _, args := range [][]string{{"migrate", "up"}, {"tenant", "create", "--name", "Acme", "--json"}} {
		p := s.released.launch(nil, args...)
		if code := p.await(t); code != exitDone {
			t.Fatalf("sluice %v of the last release ended with %d: %s", args, code, p.stderr)
		}
		if args[0] == "tenant" {
			var made struct{ SecretKey string }
			if err := json.Unmarshal([]byte(p.stdout.String()), &made); err != nil {
				t.Fatal(err)
			}
			s.secret = made.SecretKey
		}
	}

	// Live runs that wait for a time and for a person, and a schedule that has much to catch up with.
	s.older = s.released.spawn("serve")
	callee, calleeVersion := s.draft(s.older, "Called", `"nodes":[`+fmt.Sprintf(transformNode, "twice", "input * 2", "")+`],"edges":[]`)
	s.send(s.older, http.MethodPost, "/workflow-versions/"+calleeVersion+"/publish", "")
	_, asking := s.draft(s.older, "Ask", `"nodes":[{"id":"rest","type":"wait","version":"1.0.0","name":"R","config":{"delayMs":3000}},
		{"id":"ask","type":"input","version":"1.0.0","name":"A","config":{"inputType":"boolean"}}],"edges":[{"sourceNodeId":"rest","targetNodeId":"ask"}]`)
	call := s.trigger(s.older, asking, "webhook", `{}`)
	_, ticking := s.draft(s.older, "Tick", `"nodes":[`+fmt.Sprintf(transformNode, "tick", "1", "")+`],"edges":[]`)
	tick := s.trigger(s.older, ticking, "schedule", `{"scheduleConfig":{"cron":"* * * * *","catchUp":"all"}}`)
	const before = 12
	var asked []string
	for range before {
		asked = append(asked, fmt.Sprint(s.send(s.older, http.MethodPost, "/triggers/"+call+"/webhook", `{"eventData":{}}`)["runId"]))
	}
	from := s.rewind(tick, 20)
	waits := s.asksNow(s.older, "Ask before")

	s.current.ok("migrate", "up")
	s.newer = s.current.spawn("serve")
	s.answers(waits)
	_, loop := s.draft(s.newer, "Loop", fmt.Sprintf(`"nodes":[
		{"id":"each","type":"forEach","version":"1.0.0","name":"E","config":{"items":"payload.items","concurrency":3}},
		{"id":"rest","parentId":"each","type":"wait","version":"1.0.0","name":"R","config":{"delayMs":300}},
		{"id":"call","parentId":"each","type":"callWorkflow","version":"1.0.0","name":"C","config":{"workflowId":%q,"input":"{{ item }}"}}],
		"edges":[{"sourceNodeId":"rest","targetNodeId":"call"}]`, callee))
	if status, body := s.newer.request(t, http.MethodPost, "/v1/gateway/workflow-versions/"+loop+"/publish", s.secret, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "upgrade_in_progress") {
		t.Errorf("publishing a loop next to the last release: %d %s", status, body)
	}

	// Drafts run, and gateways of both versions die meanwhile.
	const items = 8
	var loops []string
	for range 4 {
		loops = append(loops, fmt.Sprint(s.send(s.newer, http.MethodPost, "/workflow-versions/"+loop+"/runs", `{"payload":{"items":[0,1,2,3,4,5,6,7]}}`)["id"]))
	}
	s.newer.server.await(t, "/v1/gateway/runs?limit=1&status=completed&parentRunId="+loops[0], s.secret, `"items":[{`)
	s.kill()
	from = slices.MinFunc([]time.Time{from, s.rewind(tick, 30)}, time.Time.Compare)
	for i, run := range asked {
		p := []*process{s.older, s.newer}[i%2]
		if i%3 == 0 {
			s.answers(run) // it was asked by either
			continue
		}
		p.server.await(t, "/v1/gateway/runs/"+run, s.secret, `"resumeToken"`)
		_, text := s.newer.request(t, http.MethodGet, "/v1/gateway/runs/"+run, s.secret, "")
		token := regexp.MustCompile(`"resumeToken":"([^"]+)"`).FindStringSubmatch(text)
		s.send(p, http.MethodPost, "/triggers/resume", fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":true}`, run, token[1]))
	}
	s.kill()
	for _, run := range loops {
		s.newer.server.await(t, "/v1/gateway/runs/"+run, s.secret, `"status":"completed"`)
		if shown := s.send(s.newer, http.MethodGet, "/runs/"+run, ""); fmt.Sprint(shown["output"]) != "map[count:8 failed:[] results:[0 2 4 6 8 10 12 14]]" {
			t.Errorf("the loop gave %v", shown["output"])
		}
		s.total("parentRunId="+run, items)
	}
	s.total("workflowVersionId="+calleeVersion+"&include=children&status=completed", items*len(loops))
	s.total("workflowVersionId="+calleeVersion+"&include=children", items*len(loops))
	s.total("workflowVersionId="+asking+"&status=completed", before)
	s.total("workflowVersionId="+asking, before)
	s.everyMinuteOnce(tick, from)
	s.cancelledNextToTheLastRelease()
	s.refusedByTheLastRelease()
	s.answeredNextToTheLastRelease()

	// Once the last release has stopped, loops are published, and it does not come back.
	if code := s.older.exit(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("the older gateway ended with %d: %s", code, s.older.stderr)
	}
	s.exec(`UPDATE processes SET seen_at = seen_at - interval '1 hour' WHERE level = 1`) // instead of waiting for those that were killed
	s.send(s.newer, http.MethodPost, "/workflow-versions/"+loop+"/publish", "")
	refused := s.released.launch(nil, "serve")
	if code := refused.await(t); code != exitFailed {
		t.Errorf("the last release ended with %d: %s", code, refused.stderr)
	}
}

// cancelledNextToTheLastRelease checks that a gateway which cannot read a loop changes nothing of
// it, and that one which can cancels it with all of its items.
func (s *shapes) cancelledNextToTheLastRelease() {
	s.Helper()
	_, loop := s.draft(s.newer, "Questions", `"nodes":[{"id":"each","type":"forEach","version":"1.0.0","name":"E","config":{"items":"payload.items"}},
		{"id":"ask","parentId":"each","type":"input","version":"1.0.0","name":"A","config":{"inputType":"boolean"}}],"edges":[]`)
	run := fmt.Sprint(s.send(s.newer, http.MethodPost, "/workflow-versions/"+loop+"/runs", `{"payload":{"items":[1,2]}}`)["id"])
	s.total("parentRunId="+run+"&status=paused", 2)
	if status, body := s.older.request(s.T, http.MethodPost, "/v1/gateway/runs/"+run+"/cancel", s.secret, ""); status < http.StatusInternalServerError {
		s.Errorf("the last release cancels what it cannot read: %d %s", status, body)
	}
	s.total("parentRunId="+run+"&status=paused", 2)
	s.send(s.newer, http.MethodPost, "/runs/"+run+"/cancel", "")
	s.total("parentRunId="+run+"&status=cancelled", 2)
}

// asksNow starts a run that waits for a person, at the gateway.
func (s *shapes) asksNow(p *process, name string) (run string) {
	s.Helper()
	_, asking := s.draft(p, name, `"nodes":[{"id":"ask","type":"input","version":"1.0.0","name":"A","config":{"prompt":"Now?","inputType":"boolean"}}],"edges":[]`)
	run = fmt.Sprint(s.send(p, http.MethodPost, "/triggers/"+s.trigger(p, asking, "webhook", `{}`)+"/webhook", `{"eventData":{}}`)["runId"])
	p.server.await(s.T, "/v1/gateway/runs/"+run, s.secret, `"resumeToken"`)
	return run
}

// pause waits until a question of the run is listed.
func (s *shapes) pause(run string) (id string) {
	s.Helper()
	s.newer.server.await(s.T, "/v1/gateway/pauses?limit=100", s.secret, `"runId":"`+run+`"`)
	for _, one := range s.send(s.newer, http.MethodGet, "/pauses?limit=100", "")["items"].([]any) {
		if one := one.(map[string]any); one["runId"] == run {
			if question, _ := one["question"].(map[string]any); question["inputType"] != "boolean" && question["title"] == nil {
				s.Errorf("the question is shown as %v", one)
			}
			return fmt.Sprint(one["id"])
		}
	}
	s.Fatalf("the question of %s is not listed", run)
	return ""
}

// answers answers the question of a run, after which it is listed no more.
func (s *shapes) answers(run string) {
	s.Helper()
	path := "/pauses/" + s.pause(run) + "/answer"
	s.send(s.newer, http.MethodPost, path, `{"input":true}`)
	if status, body := s.newer.request(s.T, http.MethodPost, "/v1/gateway"+path, s.secret, `{"input":true}`); status != http.StatusConflict || !strings.Contains(body, "already_answered") {
		s.Errorf("a second answer: %d %s", status, body)
	}
	s.newer.server.await(s.T, "/v1/gateway/runs/"+run, s.secret, `"status":"completed"`)
}

// answeredNextToTheLastRelease checks that a gateway which knows no forms takes no answer to one, and neither lists nor loses it, and
// that questions which that gateway has ended are listed no more.
func (s *shapes) answeredNextToTheLastRelease() {
	s.Helper()
	_, version := s.draft(s.newer, "Form", `"nodes":[{"id":"ask","type":"input","version":"1.1.0","name":"A",
		"config":{"title":"Order {{ payload.id }}","form":{"ok":{"type":"boolean","required":true}}}}],"edges":[]`)
	run := fmt.Sprint(s.send(s.newer, http.MethodPost, "/workflow-versions/"+version+"/runs", `{"payload":{"id":7}}`)["id"])
	pause := s.pause(run)
	_, text := s.newer.request(s.T, http.MethodGet, "/v1/gateway/runs/"+run, s.secret, "")
	token := regexp.MustCompile(`"resumeToken":"([^"]+)"`).FindStringSubmatch(text)
	for _, input := range []string{`true`, `{"ok":true}`} {
		if status, body := s.older.request(s.T, http.MethodPost, "/v1/gateway/triggers/resume", s.secret, fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":%s}`, run, token[1], input)); status < http.StatusInternalServerError {
			s.Errorf("the last release takes %s for an answer to a form: %d %s", input, status, body)
		}
	}
	if status, body := s.newer.request(s.T, http.MethodPost, "/v1/gateway/pauses/"+pause+"/answer", s.secret, `{"input":true}`); status != http.StatusBadRequest {
		s.Errorf("a form is answered by true: %d %s", status, body)
	}
	s.send(s.newer, http.MethodPost, "/pauses/"+pause+"/answer", `{"input":{"ok":true}}`)
	s.newer.server.await(s.T, "/v1/gateway/runs/"+run, s.secret, `"status":"completed"`)

	cancelled := s.asksNow(s.older, "Ask next to it")
	s.pause(cancelled)
	s.send(s.older, http.MethodPost, "/runs/"+cancelled+"/cancel", "")
	if left := s.send(s.newer, http.MethodGet, "/pauses?limit=1", ""); fmt.Sprint(left["total"]) != "0" {
		s.Errorf("questions that nobody asks any more are listed: %v", left)
	}
}

// refusedByTheLastRelease checks that a gateway which knows neither narrowed keys nor embed tokens nor hooks takes none of them for
// something else, and that what one which does starts goes on.
func (s *shapes) refusedByTheLastRelease() {
	s.Helper()
	for what, path := range map[string][2]string{
		"a narrowed key": {"/api-keys", `{"type":"secret","subTenantId":"team","permissions":["runs:read"]}`},
		"an embed token": {"/embed-tokens", `{"subTenantId":"team","preset":"viewer"}`},
	} {
		made := s.send(s.newer, http.MethodPost, path[0], path[1])
		key, _ := made["key"].(string)
		if key == "" {
			key = fmt.Sprint(made["token"])
		}
		for p, want := range map[*process]int{s.newer: http.StatusOK, s.older: http.StatusUnauthorized} {
			if status, body := p.request(s.T, http.MethodGet, "/v1/gateway/runs", key, ""); status != want {
				s.Errorf("%s is answered %d, not %d: %s", what, status, want, body)
			}
		}
	}
	_, version := s.draft(s.newer, "Hooked", `"nodes":[`+fmt.Sprintf(transformNode, "read", "payload.body.n", "")+`],"edges":[]`)
	hooked := s.trigger(s.newer, version, "webhook", `{}`)
	address, err := url.Parse(fmt.Sprint(s.send(s.newer, http.MethodPost, "/triggers/"+hooked+"/hook", `{"scheme":{"kind":"none"}}`)["url"]))
	if err != nil {
		s.Fatal(err)
	}
	for p, want := range map[*process]int{s.newer: http.StatusAccepted, s.older: http.StatusNotFound} {
		if status, body := p.request(s.T, http.MethodPost, address.Path, "", `{"n":5}`); status != want {
			s.Errorf("a delivery to a hook is answered %d, not %d: %s", status, want, body)
		}
	}
	s.total("triggerId="+hooked+"&status=completed", 1)
	if status, body := s.older.request(s.T, http.MethodDelete, "/v1/gateway/triggers/"+hooked, s.secret, ""); status >= http.StatusMultipleChoices {
		s.Errorf("the last release does not delete a trigger with a hook: %d %s", status, body)
	}
	if status, body := s.newer.request(s.T, http.MethodPost, address.Path, "", `{"n":5}`); status != http.StatusNotFound {
		s.Errorf("a delivery to a hook that the last release has deleted is answered %d: %s", status, body)
	}
}

// everyMinuteOnce checks that a schedule has started one run for each minute.
func (s *shapes) everyMinuteOnce(trigger string, from time.Time) {
	s.Helper()
	last := time.Now().UTC().Truncate(time.Minute)
	s.newer.server.await(s.T, "/v1/gateway/triggers/"+trigger+"/fires?limit=1", s.secret, last.Format(`"scheduledAt":"2006-01-02T15:04:05.000Z"`))
	s.send(s.newer, http.MethodPatch, "/triggers/"+trigger, `{"isActive":false}`)
	var ledger struct {
		Items []struct {
			ScheduledAt time.Time
			RunID       string
		}
		Total int
	}
	_, text := s.newer.request(s.T, http.MethodGet, "/v1/gateway/triggers/"+trigger+"/fires?limit=100&sortBy=scheduledAt&sortOrder=asc", s.secret, "")
	if err := json.Unmarshal([]byte(text), &ledger); err != nil {
		s.Fatal(err)
	}
	started := map[string]bool{}
	for i, f := range ledger.Items {
		if want := from.Add(time.Duration(i) * time.Minute); !f.ScheduledAt.Equal(want) || f.RunID == "" || started[f.RunID] {
			s.Errorf("the instant %d is %v with the run %q, not %v", i, f.ScheduledAt, f.RunID, want)
		}
		started[f.RunID] = true
	}
	if ledger.Total < 30 || ledger.Total > len(ledger.Items) {
		s.Errorf("the ledger has %d instants", ledger.Total)
	}
	s.total("triggerId="+trigger+"&status=completed", ledger.Total)
	s.total("triggerId="+trigger, ledger.Total)
}
