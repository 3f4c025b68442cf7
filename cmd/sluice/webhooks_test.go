package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

	// fails says how the path fails a message in its nth attempt.
	fails func(id string, n int) fault
	tried map[string]int
	hang  chan struct{} // closed when those that hang may answer
}

// fault is how a receiver fails a message.
type fault int

const (
	none     fault = iota
	refused        // it answers 503
	hungUp         // it ends the connection without an answer
	timedOut       // it answers nothing
)

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{
		secrets: make(map[string]string), arrived: make(map[string][]string), tried: make(map[string]int),
		took: make(chan struct{}, 1), hang: make(chan struct{}), fails: func(string, int) fault { return none },
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
	if err == nil {
		err = r.take(req, body)
	}
	var on fault
	switch {
	case err == nil:
	case errors.As(err, &on):
		r.fail(w, req, on)
	default:
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// Error says that a message was failed on purpose.
func (f fault) Error() string { return fmt.Sprint("fault ", int(f)) }

// take notes a message, unless it is to fail or is not signed as it should be.
func (r *receiver) take(req *http.Request, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get(standardwebhooks.HeaderWebhookID)
	checker, err := standardwebhooks.NewWebhook(r.secrets[req.URL.Path])
	if err == nil {
		err = checker.Verify(body, req.Header)
	}
	if err != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("%s %v %s", req.URL.Path, req.Header, body))
		return err
	}
	r.tried[id]++
	if f := r.fails(id, r.tried[id]); f != none {
		return f
	}
	r.arrived[req.URL.Path] = append(r.arrived[req.URL.Path], string(body))
	select {
	case r.took <- struct{}{}:
	default:
	}
	return nil
}

// fail fails a request.
func (r *receiver) fail(w http.ResponseWriter, req *http.Request, how fault) {
	switch how {
	case hungUp:
		panic(http.ErrAbortHandler)
	case timedOut:
		select {
		case <-r.hang:
		case <-req.Context().Done():
		}
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// ledger counts what reached the receiver: messages that were taken, all the attempts,
// and messages that were taken again.
func (r *receiver) ledger() (taken, attempts, repeats int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.tried {
		attempts += n
	}
	for _, bodies := range r.arrived {
		seen := make(map[string]bool)
		for _, body := range bodies {
			seen[body] = true
		}
		taken, repeats = taken+len(seen), repeats+len(bodies)-len(seen)
	}
	return taken, attempts, repeats
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
	tenant   string
	key      string
	versions [2]string
	next     int
}

func newPublisher(t *testing.T, b binary, s server) *publisher {
	t.Helper()
	made := b.json("tenant", "create", "--name", "Acme", "--example")
	p := &publisher{T: t, tenant: fmt.Sprint(made["tenantId"]), key: fmt.Sprint(made["secretKey"])}
	for i := range p.versions {
		ver := p.call(s, http.MethodPost, "/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[
			{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{"transformType":"expression","expression":"%d"}}],"edges":[]}`, made["workflowId"], i))
		p.versions[i] = fmt.Sprint(ver["id"])
	}
	p.settled(s, made["triggerId"]) // or the publishing of the example is told as well
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

// settled waits until what happened so far was handed to the endpoints there were. Events
// are handed on in order, so that another one is waited for that an endpoint wants; a test
// of an endpoint would not do, which waits for nothing.
func (p *publisher) settled(s server, trigger any) {
	p.Helper()
	made := p.call(s, http.MethodPost, "/webhook-endpoints", `{"url":"http://127.0.0.1:1/","events":["trigger.disabled"]}`)
	p.call(s, http.MethodPatch, fmt.Sprint("/triggers/", trigger), `{"isActive":false}`)
	p.delivery(s, fmt.Sprint(made["id"]))
}

// delivery waits until the latest delivery to an endpoint has an attempt.
func (p *publisher) delivery(s server, endpoint string) map[string]any {
	p.Helper()
	late, tick := time.After(testTimeout), time.Tick(100*time.Millisecond)
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
		r.await(t, testTimeout, "the event", func() bool { return r.distinct("/told") == 1 })

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
		const events = 80 // more than an endpoint gets at the same time
		p.endpoint(s, r, "/hangs")
		p.endpoint(s, r, "/answers")
		for range events {
			p.publish(s)
		}
		began := time.Now()
		r.await(t, testTimeout, "what is sent to the endpoint that answers", func() bool { return r.distinct("/answers") == events })
		if took := time.Since(began); took > 14*time.Second {
			t.Errorf("it took %s, as if it had waited for the one that hangs", took)
		}
		close(r.hang)
		if code := s.stop(); code != exitDone {
			t.Errorf("stopped with %d: %s", code, s.stderr)
		}
	})
}
