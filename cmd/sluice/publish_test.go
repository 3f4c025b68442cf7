package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// publication is what is told of a version that is published.
type publication struct {
	Version  struct{ ID string }
	Triggers struct{ Moved, Left []string }
}

// publish asks for a version to be published, and gives up when the process ends.
func (p *process) publish(t *testing.T, version, secret, key string) (told publication, ok bool) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/gateway/workflow-versions/"+version+"/publish", strings.NewReader(`{"triggers":"move"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", secret)
	r.Header.Set("X-Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return told, false
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return told, false
	}
	if answer.StatusCode != http.StatusOK {
		t.Errorf("publishing got %d: %s", answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	return told, true
}

// A process that is killed in the middle of publishes has published a version with all its
// triggers, or not at all, and the repeated request says the same as the first one would have.
func TestAProcessThatIsKilledWhilePublishingHasMovedAllTriggersOrNone(t *testing.T) {
	skipUnderRace(t)
	databases(t, func(t *testing.T, b binary) {
		b.ok("migrate", "up")
		made := b.json("tenant", "create", "--name", "Acme")
		secret := fmt.Sprint(made["secretKey"])
		b.ok("tenant", "update", fmt.Sprint(made["tenantId"]), "--secret-per-minute", "1000000")
		p := b.spawn("serve")
		post := func(path, body string) (id string) {
			t.Helper()
			status, text := p.request(t, http.MethodPost, "/v1/gateway"+path, secret, body)
			var doc struct{ ID string }
			if err := json.Unmarshal([]byte(text), &doc); err != nil || status >= http.StatusMultipleChoices {
				t.Fatalf("POST %s: %d %s", path, status, text)
			}
			return doc.ID
		}
		workflow := post("/workflows", `{"name":"Orders"}`)
		versions := make([]string, 2)
		for i := range versions {
			versions[i] = post("/workflow-versions", fmt.Sprintf(
				`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, workflow))
		}
		const triggers = 40
		for i := range triggers {
			kind, config := "webhook", `{}`
			if i%2 == 0 {
				kind, config = "schedule", `{"scheduleConfig":{"cron":"0 0 1 1 *"}}`
			}
			post("/triggers", fmt.Sprintf(`{"workflowVersionId":%q,"name":"T","type":%q,"config":%s}`, versions[0], kind, config))
		}
		post("/workflow-versions/"+versions[0]+"/publish", "")
		attached := func(version string) string {
			t.Helper()
			_, text := p.request(t, http.MethodGet, "/v1/gateway/triggers?limit=1&workflowVersionId="+version, secret, "")
			var list struct{ Total int }
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Fatal(err)
			}
			_, text = p.request(t, http.MethodGet, "/v1/gateway/workflow-versions/"+version, secret, "")
			var ver struct{ IsActive bool }
			if err := json.Unmarshal([]byte(text), &ver); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d triggers, active: %v", list.Total, ver.IsActive)
		}
		n, whole := 0, fmt.Sprintf("%d triggers, active: true", triggers)
		for range 6 {
			killed := make(chan struct{})
			go func(p *process, after time.Duration) {
				time.Sleep(after)
				_ = p.cmd.Process.Signal(syscall.SIGKILL)
				close(killed)
			}(p, rand.N(300*time.Millisecond))
			version, key := "", ""
			for answered := true; answered; {
				n++
				version, key = versions[n%2], fmt.Sprint("publish-", n)
				_, answered = p.publish(t, version, secret, key)
			}
			<-killed
			p.await(t)
			p = b.spawn("serve")
			if first, second := attached(versions[0]), attached(versions[1]); first != whole && second != whole ||
				first != "0 triggers, active: false" && second != "0 triggers, active: false" {
				t.Errorf("the first version has %s, the second %s", first, second)
			}
			told, _ := p.publish(t, version, secret, key)
			if told.Version.ID != version || len(told.Triggers.Moved) != triggers || len(told.Triggers.Left) > 0 {
				t.Errorf("the repeat says of %s: %d moved, %d left", told.Version.ID, len(told.Triggers.Moved), len(told.Triggers.Left))
			}
			if got := attached(version); got != whole {
				t.Errorf("after the repeat it has %s", got)
			}
		}
		t.Logf("%d publishes", n)
	})
}

// A gateway of the last release publishes without moving triggers, and calls those that were
// moved; this one goes back to what it replaced.
func TestTheLastReleasePublishesNextToThisOne(t *testing.T) {
	skipUnderRace(t)
	b := newBinary(t, postgresURL(t))
	b.ok("migrate", "up")
	released := b
	released.program = lastRelease(t)
	made := b.json("tenant", "create", "--name", "Acme")
	secret, older, newer := fmt.Sprint(made["secretKey"]), released.spawn("serve"), b.spawn("serve")
	send := func(p *process, method, path, body string) (text string) {
		t.Helper()
		status, text := p.request(t, method, "/v1/gateway"+path, secret, body)
		if status >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
		return text
	}
	idOf := func(text string) string {
		t.Helper()
		var doc struct{ ID string }
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.ID
	}
	workflow := idOf(send(older, http.MethodPost, "/workflows", `{"name":"Orders"}`))
	draft := func() string {
		return idOf(send(older, http.MethodPost, "/workflow-versions", fmt.Sprintf(
			`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"1"}}]}`, workflow)))
	}
	first, second := draft(), draft()
	trigger := idOf(send(older, http.MethodPost, "/triggers", fmt.Sprintf(`{"workflowVersionId":%q,"name":"T","type":"webhook","config":{}}`, first)))
	fires := func(step, of string, want int) {
		t.Helper()
		for _, p := range []*process{older, newer} {
			if status, text := p.request(t, http.MethodPost, "/v1/gateway/triggers/"+trigger+"/webhook", secret, "{}"); status != want {
				t.Errorf("%s: a call got %d: %s", step, status, text)
			}
			if shown := send(p, http.MethodGet, "/triggers/"+trigger, ""); !strings.Contains(shown, of) {
				t.Errorf("%s: the trigger is %s", step, shown)
			}
		}
	}
	publish := func(p *process, version string) string {
		t.Helper()
		return send(p, http.MethodPost, "/workflow-versions/"+version+"/publish", "")
	}
	publish(older, first)
	fires("the first version is published", first, http.StatusOK)
	publish(older, second)
	fires("the older one publishes the second", first, http.StatusConflict)
	if told := send(newer, http.MethodPost, "/workflows/"+workflow+"/rollback", ""); !strings.Contains(told, first) {
		t.Errorf("rolled back to %s", told)
	}
	fires("it is rolled back", first, http.StatusOK)
	if told := publish(newer, second); !strings.Contains(told, `"moved":["`+trigger) {
		t.Errorf("published as %s", told)
	}
	fires("the newer one publishes the second", second, http.StatusOK)
	send(older, http.MethodPatch, "/triggers/"+trigger, `{"name":"Renamed"}`)
	fires("it was renamed", second, http.StatusOK)
	publish(older, first)
	fires("the older one publishes the first", second, http.StatusConflict)
	send(newer, http.MethodPost, "/workflows/"+workflow+"/rollback", "")
	fires("it is rolled back again", second, http.StatusOK)
}
