package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// firstChanges ends each stream of lists with its first events, for tests that read whole answers.
type firstChanges struct{ inbound.ListChanges }

var errFirst = errors.New("these are the first")

// Follow sends the first events.
func (f firstChanges) Follow(ctx context.Context, who tenant.Caller, after string, send func([]inbound.ListEvent) error) error {
	err := f.ListChanges.Follow(ctx, who, after, func(events []inbound.ListEvent) error { return errors.Join(errFirst, send(events)) })
	if errors.Is(err, errFirst) {
		return nil
	}
	return err
}

// allChanges lets streams of lists go on.
func allChanges(_ *httpapi.Options, p *httpapi.Ports) {
	if first, ok := p.ListChanges.(firstChanges); ok {
		p.ListChanges = first.ListChanges
	}
}

// listStream is a stream of lists that somebody reads.
type listStream struct {
	*testing.T
	lines *bufio.Scanner
	id    string // of the last event
}

// followLists begins to read a stream of lists, which ends with the test.
func (g *gateway) followLists(server *httptest.Server, key, last string) *listStream {
	g.Helper()
	request, err := http.NewRequestWithContext(g.Context(), http.MethodGet, server.URL+"/v1/gateway/stream", nil)
	if err != nil {
		g.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = answer.Body.Close() }) // it has ended
	if answer.StatusCode != http.StatusOK {
		g.Fatalf("got %d", answer.StatusCode)
	}
	return &listStream{T: g.T, lines: bufio.NewScanner(answer.Body)}
}

// next returns the name and the data of the next event; both are empty at the end.
func (s *listStream) next() (name, data string) {
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case field == "id":
			s.id = value
		case field == "event":
			name = value
		case field == "data":
			data = value
		case name != "" && field == "":
			return name, data
		}
	}
	return "", ""
}

// hears reads events until the wanted one, which must come before any that may not.
func (s *listStream) hears(name, data string) {
	s.Helper()
	for {
		got, said := s.next()
		if got == name && said == data {
			return
		}
		if got == "" {
			s.Fatalf("the stream ended before %s %s", name, data)
		}
	}
}

func (g *gateway) listServer() *httptest.Server {
	server := httptest.NewServer(g.api)
	g.Cleanup(server.Close)
	return server
}

func TestWhatChangesInListsIsStreamed(t *testing.T) {
	g := newGateway(t, allChanges)
	e := g.fixture("Acme")
	server := g.listServer()
	s := g.followLists(server, e.secret, "")
	s.hears("reset", "{}")
	ver := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":"A","config":{}}]}`, e.ids["workflows"])).field(t, "id"))
	s.hears("version", fmt.Sprintf(`{"operation":"created","id":%q,"workflowId":%q}`, ver, e.ids["workflows"]))
	g.send(http.MethodPatch, "/v1/gateway/workflow-versions/"+ver, e.secret, `{"metadata":{"a":"b"}}`)
	s.hears("version", fmt.Sprintf(`{"operation":"changed","id":%q,"workflowId":%q}`, ver, e.ids["workflows"]))
	behind := s.id
	g.send(http.MethodDelete, "/v1/gateway/workflow-versions/"+ver, e.secret, "")
	gone := fmt.Sprintf(`{"operation":"deleted","id":%q,"workflowId":%q}`, ver, e.ids["workflows"])
	s.hears("version", gone)

	back := g.followLists(server, e.secret, behind)
	if name, data := back.next(); name != "version" || data != gone {
		t.Errorf("who comes back behind an event gets %s %s", name, data)
	}
	lost := g.followLists(server, e.secret, "lst_of_another_process-7")
	if name, data := lost.next(); name != "reset" || data != "{}" {
		t.Errorf("who comes back from elsewhere gets %s %s", name, data)
	}
	sent := g.send(http.MethodPost, "/v1/gateway/webhook-endpoints/"+e.ids["webhook-endpoints"]+"/test", e.secret, "")
	s.hears("delivery", fmt.Sprintf(`{"operation":"created","id":%q,"endpointId":%q}`, sent.field(t, "id"), e.ids["webhook-endpoints"]))
	run := g.waitingRun(e)
	s.hears("run", run)
	g.send(http.MethodDelete, "/v1/gateway/workflows/"+e.ids["workflows"], e.secret, "")
	s.hears("reset", "{}")
}

// waitingRun starts a run, and returns what a stream says of it.
func (g *gateway) waitingRun(e fixture) string {
	g.Helper()
	ver := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"a","type":"input","version":"1.0.0","name":"A","config":{"inputType":"boolean"}}]}`, e.ids["workflows"])).field(g.T, "id"))
	started := g.send(http.MethodPost, "/v1/gateway/workflow-versions/"+ver+"/runs", e.secret, `{}`)
	if started.status >= http.StatusMultipleChoices {
		g.Fatalf("got %d: %s", started.status, started.body)
	}
	return fmt.Sprintf(`{"operation":"created","id":%q,"workflowId":%q}`, started.field(g.T, "id"), e.ids["workflows"])
}

// Both tenants change the same things, and each hears of its own.
func TestNoStreamOfListsHasAForeignByte(t *testing.T) {
	g := newGateway(t, allChanges)
	server := g.listServer()
	mine, theirs := g.fixture("Mine"), g.fixture("Theirs")
	heard := map[string][]string{}
	streams := map[string]*listStream{mine.secret: g.followLists(server, mine.secret, ""), theirs.secret: g.followLists(server, theirs.secret, "")}
	for _, s := range streams {
		s.hears("reset", "{}")
	}
	ends := make(map[string]string)
	for range 3 {
		for _, e := range []fixture{theirs, mine} {
			g.send(http.MethodPost, "/v1/gateway/webhook-endpoints/"+e.ids["webhook-endpoints"]+"/test", e.secret, "")
			ends[e.secret] = g.waitingRun(e)
		}
	}
	for key, s := range streams {
		for said := ""; said != ends[key]; {
			var name string
			if name, said = s.next(); name == "" || name == "reset" {
				t.Fatalf("after %v comes %q", heard[key], name)
			}
			heard[key] = append(heard[key], said)
		}
	}
	for key, e := range map[string]fixture{mine.secret: mine, theirs.secret: theirs} {
		if len(heard[key]) < 7 {
			t.Errorf("heard %v", heard[key])
		}
		for _, said := range heard[key] {
			if !strings.Contains(said, e.ids["workflows"]) && !strings.Contains(said, e.ids["webhook-endpoints"]) {
				t.Errorf("a foreign byte: %s", said)
			}
		}
	}
}

// Who sees one sub-tenant hears of what is in it, and of nothing else.
func TestAStreamOfListsHasNothingOfAnotherSubTenant(t *testing.T) {
	var narrow *narrowing
	g := newGateway(t, allChanges, func(_ *httpapi.Options, ports *httpapi.Ports) {
		narrow = &narrowing{Admission: ports.Admission}
		ports.Admission = narrow
	})
	c, server, own := g.customer("Acme"), g.listServer(), tenant.SubTenantID("own")
	whole := g.followLists(server, c.secret, "")
	whole.hears("reset", "{}")
	narrow.to = &own
	some := g.followLists(server, c.secret, "")
	some.hears("reset", "{}")
	narrow.to = nil
	said := map[string][]string{}
	for _, sub := range []string{"other", "", "own", "other", "own"} {
		body := `{"name":"Orders ` + fmt.Sprint(len(said["all"])) + `"}`
		if sub != "" {
			body = `{"subTenantId":"` + sub + `",` + body[1:]
		}
		e := fixture{customer: c, ids: map[string]string{"workflows": fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflows", c.secret, body).field(t, "id"))}}
		run := g.waitingRun(e)
		said[sub], said["all"] = append(said[sub], run), append(said["all"], run)
	}
	for _, run := range said["all"] {
		whole.hears("run", run)
	}
	for _, want := range said["own"] {
		for heard := ""; heard != want; {
			name, data := some.next()
			if heard = data; name == "" || !strings.Contains(want, workflowOf(data)) {
				t.Fatalf("before %s comes %s %s", want, name, data)
			}
		}
	}
}

// workflowOf is the workflow that the data of an event names, with its member.
func workflowOf(data string) string {
	_, after, _ := strings.Cut(data, `"workflowId":`)
	id, _, _ := strings.Cut(after, "}")
	return `"workflowId":` + id
}

func TestAStreamOfListsEndsWithItsKey(t *testing.T) {
	g := newGateway(t, allChanges)
	httpapi.ConfirmInterval(g.api, 20*time.Millisecond)
	e := g.fixture("Acme")
	s := g.followLists(g.listServer(), e.secret, "")
	s.hears("reset", "{}")
	g.revoke(e.customer)
	if name, data := s.next(); name != "closed" || !strings.Contains(data, `"code":"unauthenticated"`) {
		t.Errorf("it ends with %s %s", name, data)
	}
	if name, _ := s.next(); name != "" {
		t.Errorf("then comes %s", name)
	}
}

// changedLists has what changes as it is told to.
type changedLists func(ctx context.Context, after string, send func([]inbound.ListEvent) error) error

func (f changedLists) Follow(ctx context.Context, _ tenant.Caller, after string, send func([]inbound.ListEvent) error) error {
	return f(ctx, after, send)
}

func TestEachChangeIsAnEvent(t *testing.T) {
	lists := changedLists(func(_ context.Context, after string, send func([]inbound.ListEvent) error) error {
		return errors.Join(send(nil), send(nil), send([]inbound.ListEvent{
			{ID: after}, {ID: "l-2", Change: change.Change{Kind: change.Run, Operation: change.Created, ID: "run_1", Workflow: "wf_1", Parent: "run_0"}},
			{ID: "l-3", Change: change.Change{Kind: change.Pause, Operation: change.Deleted, ID: "run_1", Workflow: "wf_1", Node: "a\nb"}},
			{ID: "l-4", Change: change.Change{Kind: change.Delivery, Operation: change.Changed, ID: "msg_1", Endpoint: "whk_1", SubTenant: "never shown", Tenant: "never shown"}},
		}))
	})
	g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) { p.ListChanges = lists })
	got := g.send(http.MethodGet, "/v1/gateway/stream", g.customer("Acme").secret, "", "Last-Event-ID", "l-1")
	want := ": what changes in lists\n\n: still here\n\nid: l-1\nevent: reset\ndata: {}\n\n" +
		"id: l-2\nevent: run\ndata: {\"operation\":\"created\",\"id\":\"run_1\",\"workflowId\":\"wf_1\",\"parentRunId\":\"run_0\"}\n\n" +
		"id: l-3\nevent: pause\ndata: {\"operation\":\"deleted\",\"runId\":\"run_1\",\"nodeId\":\"a\\nb\",\"workflowId\":\"wf_1\"}\n\n" +
		"id: l-4\nevent: delivery\ndata: {\"operation\":\"changed\",\"id\":\"msg_1\",\"endpointId\":\"whk_1\"}\n\n"
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Error(diff)
	}
}

func TestStreamsOfListsTakePlacesOfStreams(t *testing.T) {
	g := newGateway(t, allChanges)
	e := g.fixture("Acme")
	g.configure(e.customer, func(s *tenant.Settings) {
		s.Quotas = map[tenant.KeyType]tenant.Quota{tenant.Secret: {PerMinute: 1000, Concurrent: 1}}
	})
	server := g.listServer()
	g.followLists(server, e.secret, "").hears("reset", "{}")
	got := g.send(http.MethodGet, "/v1/gateway/stream", e.secret, "")
	if got.status != http.StatusTooManyRequests || got.field(t, "code") != "too_many_streams" {
		t.Errorf("another one got %d: %s", got.status, got.body)
	}
}

func TestAStreamOfListsEndsWithTheGateway(t *testing.T) {
	streams, end := context.WithCancel(t.Context())
	g := newGateway(t, allChanges, func(o *httpapi.Options, _ *httpapi.Ports) { o.Streams = streams })
	e := g.fixture("Acme")
	s := g.followLists(g.listServer(), e.secret, "")
	s.hears("reset", "{}")
	end()
	if name, data := s.next(); name != "closed" || !strings.Contains(data, `"code":"stopping"`) {
		t.Errorf("it ends with %s %s", name, data)
	}
	if got := g.send(http.MethodGet, "/v1/gateway/stream", e.secret, ""); got.status != http.StatusServiceUnavailable || got.field(t, "code") != "stopping" {
		t.Errorf("another one got %d: %s", got.status, got.body)
	}
}
