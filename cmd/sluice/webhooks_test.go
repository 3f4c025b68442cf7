package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is the other side of webhook endpoints. Each path is an endpoint of its own.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	secrets map[string]string
	arrived map[string][]string // from a path to the bodies that were taken, whose signatures fit
	wrong   []string            // what was not signed as it should be
	took    chan struct{}       // something was taken

	// refuses says whether the path answers a message, in its nth attempt, with a 503.
	refuses func(path, id string, n int) bool
	tried   map[string]int
	hang    chan struct{} // closed when those that hang may answer
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{
		secrets: make(map[string]string), arrived: make(map[string][]string), tried: make(map[string]int),
		took: make(chan struct{}, 1), hang: make(chan struct{}), refuses: func(string, string, int) bool { return false },
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes a message, unless the path hangs or refuses it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, "/hangs") {
		select {
		case <-r.hang:
		case <-req.Context().Done():
		}
		return
	}
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get(standardwebhooks.HeaderWebhookID)
	checker, errSecret := standardwebhooks.NewWebhook(r.secrets[req.URL.Path])
	if err != nil || errSecret != nil || checker.Verify(body, req.Header) != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%s %v %s", req.URL.Path, req.Header, body))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.tried[id]++; r.refuses(req.URL.Path, id, r.tried[id]) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.arrived[req.URL.Path] = append(r.arrived[req.URL.Path], string(body))
	select {
	case r.took <- struct{}{}:
	default:
	}
}

// distinct counts the different events that arrived at a path.
func (r *receiver) distinct(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[string]bool)
	for _, body := range r.arrived[path] {
		seen[body] = true
	}
	return len(seen)
}

// await waits until enough has arrived.
func (r *receiver) await(t *testing.T, within time.Duration, what string, enough func() bool) {
	t.Helper()
	late := time.After(within)
	for !enough() {
		select {
		case <-r.took:
		case <-late:
			t.Fatalf("%s did not arrive within %s", what, within)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) > 0 {
		t.Errorf("not signed as it should be: %s", r.wrong)
	}
}

// publisher is a tenant that can publish as often as it likes.
type publisher struct {
	*testing.T
	key      string
	versions [2]string
	next     int
}

func newPublisher(t *testing.T, b binary, s server) *publisher {
	t.Helper()
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	p := &publisher{T: t, key: fmt.Sprint(made["secretKey"])}
	for i := range p.versions {
		ver := p.call(s, http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[
			{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"%d"}}],"edges":[]}`, made["workflowId"], i))
		p.versions[i] = fmt.Sprint(ver["id"])
	}
	p.settled(s) // or the publishing of the example is told as well
	return p
}

// call makes a request that must succeed.
func (p *publisher) call(s server, method, path, body string) (doc map[string]any) {
	p.Helper()
	status, text := s.request(p.T, method, "/v1/gateway"+path, p.key, body)
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status >= http.StatusBadRequest {
		p.Fatalf("%s %s got %d: %s", method, path, status, text)
	}
	return doc
}

// endpoint makes a webhook endpoint for a path of the receiver.
func (p *publisher) endpoint(s server, r *receiver, path string) (id string) {
	p.Helper()
	made := p.call(s, http.MethodPost, "/webhook-endpoints", fmt.Sprintf(`{"url":%q,"events":["workflow.published"]}`, r.URL+path))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = fmt.Sprint(made["secret"])
	return fmt.Sprint(made["id"])
}

// publish publishes one of the two versions after the other, and returns which.
func (p *publisher) publish(s server) string {
	p.Helper()
	id := p.versions[p.next%len(p.versions)]
	p.next++
	p.call(s, http.MethodPost, "/workflow-versions/"+id+"/publish", "")
	return id
}

// settled waits until what happened so far was handed to the endpoints there were.
func (p *publisher) settled(s server) {
	p.Helper()
	made := p.call(s, http.MethodPost, "/webhook-endpoints", `{"url":"http://127.0.0.1:1/","events":["run.failed"]}`)
	p.call(s, http.MethodPost, fmt.Sprint("/webhook-endpoints/", made["id"], "/test"), "")
	p.delivery(s, fmt.Sprint(made["id"]))
}

// delivery waits until the latest delivery to an endpoint has an attempt.
func (p *publisher) delivery(s server, endpoint string) map[string]any {
	p.Helper()
	late, tick := time.After(patience), time.Tick(100*time.Millisecond)
	for {
		found := p.call(s, http.MethodGet, "/webhook-endpoints/"+endpoint+"/deliveries", "")
		items, _ := found["items"].([]any)
		if len(items) > 0 {
			if d, _ := items[0].(map[string]any); d["attemptCount"] != 0.0 {
				return d
			}
		}
		select {
		case <-tick:
		case <-late:
			p.Fatalf("there is no delivery with an attempt: %v", found)
		}
	}
}

func TestAPublishedVersionIsToldToWhoeverWantsToKnow(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		r := newReceiver(t)
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
		s := b.start("serve")
		p := newPublisher(t, b, s)
		told, private := p.endpoint(s, r, "/told"), fmt.Sprint(p.call(s, http.MethodPost, "/webhook-endpoints", `{"url":"http://169.254.169.254/latest"}`)["id"])
		version := p.publish(s)
		r.await(t, patience, "the event", func() bool { return r.distinct("/told") == 1 })

		var body struct {
			ID, Type, Timestamp string
			Data                map[string]any
		}
		if err := json.Unmarshal([]byte(r.arrived["/told"][0]), &body); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"workflowId": body.Data["workflowId"], "workflowVersionId": version, "version": 2.0, "publishedAt": body.Timestamp}
		if diff := cmp.Diff(want, body.Data); diff != "" || body.Type != "workflow.published" || !strings.HasPrefix(body.ID, "evt_") {
			t.Errorf("%s %s: %s", body.Type, body.ID, diff)
		}
		if d := p.delivery(s, told); d["status"] != "delivered" || d["eventId"] != body.ID {
			t.Errorf("the delivery is %v", d)
		}
		d := p.delivery(s, private)
		attempts, _ := d["attempts"].([]any)
		if first, _ := attempts[0].(map[string]any); d["status"] != "pending" || first["code"] != "address_refused" {
			t.Errorf("a call into the network of the gateway ended with %v", d)
		}
		if code := s.stop(); code != exitDone {
			t.Errorf("stopped with %d: %s", code, s.stderr)
		}
	})
}

func TestAnEndpointThatHangsDelaysNoOther(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		r := newReceiver(t)
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
		s := b.start("serve")
		p := newPublisher(t, b, s)
		const events = 80 // more than a process sends at the same time
		p.endpoint(s, r, "/hangs")
		p.endpoint(s, r, "/answers")
		for range events {
			p.publish(s)
		}
		began := time.Now()
		r.await(t, patience, "what is sent to the endpoint that answers", func() bool { return r.distinct("/answers") == events })
		if took := time.Since(began); took > 14*time.Second {
			t.Errorf("it took %s, as if it had waited for the one that hangs", took)
		}
		close(r.hang)
		if code := s.stop(); code != exitDone {
			t.Errorf("stopped with %d: %s", code, s.stderr)
		}
	})
}

// manyVariable says how many deliveries the test of a killed gateway makes.
const manyVariable = "SLUICE_TEST_DELIVERIES"

// A process is killed while it sends. What it was sending is sent again once its lease
// has ended, so that this test takes more than a minute.
func TestEveryDeliveryArrivesAlthoughTheGatewayIsKilledAndReceiversFail(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the leases of a killed process to end")
	}
	many := 1000
	if text := os.Getenv(manyVariable); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", manyVariable, err)
		}
	}
	databases(t, func(t *testing.T, b binary) {
		const endpoints = 50
		events := many / endpoints
		r := newReceiver(t)
		// A third of the messages are refused at first, by chance: their identifiers are random.
		r.refuses = func(_, id string, n int) bool { return n == 1 && id[len(id)-1]%3 == 0 }
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
		killed := b.spawn("serve")
		p := newPublisher(t, b, killed.server)
		var paths []string
		for i := range endpoints {
			paths = append(paths, fmt.Sprint("/", i))
			p.endpoint(killed.server, r, paths[i])
		}
		count := func() (n int) {
			for _, path := range paths {
				n += r.distinct(path)
			}
			return n
		}
		for range events {
			p.publish(killed.server)
		}
		r.await(t, patience, "the first of them", func() bool { return count() >= many/10 })
		killed.exit(t, syscall.SIGKILL)
		before := count()
		if before == many {
			t.Fatal("all were delivered before the process was killed")
		}
		again := b.spawn("serve")
		r.await(t, 5*patience, "all of them", func() bool { return count() == many })
		for _, path := range paths {
			if n := r.distinct(path); n != events {
				t.Errorf("%s got %d of %d events", path, n, events)
			}
		}
		t.Logf("%d deliveries, %d of them after the process was killed", many, many-before)
		if code := again.exit(t, syscall.SIGTERM); code != exitDone {
			t.Errorf("stopped with %d: %s", code, again.stderr)
		}
	})
}
