package temporal

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var record = flag.Bool("record", false, "write the histories of workflows anew")

// Workflows that older versions began go on when the gateways are replaced. Their histories stay in testdata
// when new ones are recorded.
func TestRecordedHistoriesAreReplayed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		history, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, event := range history.GetEvents() {
			if event.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_STARTED && i+1 < len(history.GetEvents()) {
				continue // it was nowhere else when its process ended
			}
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
			if err := replayer.ReplayWorkflowHistory(silent{}, &historypb.History{Events: history.GetEvents()[:i+1]}); err != nil {
				t.Errorf("%s, %d events: %v", file, i+1, err)
			}
		}
	}
}

// process stands for a gateway: what it does with a run is a function of the test.
type process struct {
	inbound.Worker
	moveOn func(h inbound.HandedOver) inbound.MovedOn
}

// MoveOn does what the test says.
func (p process) MoveOn(_ context.Context, h inbound.HandedOver) (inbound.MovedOn, error) {
	return p.moveOn(h), nil
}

// keyset is one that does not change.
type keyset struct{ found outbound.Keyset }

// Keyset returns it.
func (k keyset) Keyset(context.Context) (outbound.Keyset, error) { return k.found, nil }

// server has processes use the Temporal server of the tests.
type server struct {
	*testing.T
	queue  string
	cipher outbound.Cipher
	keys   outbound.Keysets
}

func newServer(t *testing.T) server {
	t.Helper()
	if os.Getenv("SLUICE_TEST_TEMPORAL") == "" {
		t.Skip("SLUICE_TEST_TEMPORAL names no server; make temporal starts one")
	}
	local, err := secrets.ParseKey(secrets.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	cipher := secrets.New(local)
	wrapped, err := cipher.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return server{t, system.Random{}.ID("queue"), cipher, keyset{outbound.Keyset{Revision: 1, Wrapped: wrapped, Complete: true}}}
}

// open is what a process has of the server at an address.
func (s server) open(address string) *Engine {
	s.Helper()
	e, err := New(Options{Address: address, Namespace: "default", TaskQueue: s.queue})
	if err != nil {
		s.Fatal(err)
	}
	e.KeepWith(s.cipher, s.keys)
	return e
}

// start begins a process, which dies with the test or before: then nothing comes from it any more.
func (s server) start(moveOn func(h inbound.HandedOver) inbound.MovedOn) (e *Engine, die func()) {
	s.Helper()
	e = s.open(os.Getenv("SLUICE_TEST_TEMPORAL"))
	ctx, stop := context.WithCancel(context.Background())
	go e.Serve(ctx, process{moveOn: moveOn}, 4, func(error) {})
	return e, func() { stop(); e.Close() }
}

// processes are the names of those who took part in a history, with the name of their machine.
var processes = regexp.MustCompile(`"identity": *"[^"]*"`)

// ends waits for the end of a workflow, keeps its history where that is wanted, and returns it.
func (s server) ends(e *Engine, id run.ID, as string) *historypb.History {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	if err := e.client.GetWorkflow(ctx, string(id), "").Get(ctx, nil); err != nil {
		s.Fatal(err)
	}
	history := new(historypb.History)
	events := e.client.GetWorkflowHistory(ctx, string(id), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		next, err := events.Next()
		if err != nil {
			s.Fatal(err)
		}
		history.Events = append(history.Events, next)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	if err != nil {
		s.Fatal(err)
	}
	raw, err := proto.Marshal(history)
	if err != nil {
		s.Fatal(err)
	}
	for _, clear := range []string{"hunter2", "aHVudGVyMg"} { // as it is, and in base64
		if strings.Contains(string(raw), clear) {
			s.Error("what a run has done stands in the history in clear")
		}
	}
	if *record {
		text = processes.ReplaceAll(text, []byte(`"identity": "a process"`))
		if err := os.WriteFile(filepath.Join("testdata", as+".json"), append(text, '\n'), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	return history
}

func (s server) handOver(e *Engine, id run.ID, lease int64) {
	s.Helper()
	if err := e.HandOver(s.Context(), outbound.RunLease{Tenant: tenant.ID("tenant_1"), Run: id, Number: lease}); err != nil {
		s.Fatal(err)
	}
}

func TestARunOfManyStepsHasAShortHistory(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	e, die := s.start(func(h inbound.HandedOver) inbound.MovedOn {
		for range 4200 {
			if err := h.Keep(context.Background(), []byte("hunter2")); err != nil {
				t.Error(err)
				break
			}
		}
		return inbound.MovedOn{Rests: true}
	})
	defer die()
	id := run.ID(system.Random{}.ID(run.IDPrefix))
	s.handOver(e, id, 1)
	if n := len(s.ends(e, id, "rests").GetEvents()); n > 20 {
		t.Errorf("%d events", n)
	}
}

// A process dies, and the one that leases the run after it gets what it kept.
func TestWhatADeadProcessKeptComesWithTheNextLease(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	kept, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	first, die := s.start(func(h inbound.HandedOver) inbound.MovedOn {
		for _, done := range []string{"older", "hunter2"} {
			if err := h.Keep(context.Background(), []byte(done)); err != nil {
				t.Error(err)
			}
		}
		close(kept)
		<-never
		return inbound.MovedOn{}
	})
	id := run.ID(system.Random{}.ID(run.IDPrefix))
	s.handOver(first, id, 1)
	<-kept
	die()
	begun := make(chan inbound.HandedOver, 2)
	second, dieToo := s.start(func(h inbound.HandedOver) inbound.MovedOn {
		begun <- h
		return inbound.MovedOn{Rests: true}
	})
	defer dieToo()
	s.handOver(second, id, 2)
	s.ends(second, id, "given-up")
	if h := <-begun; h.Lease != 2 || string(h.Kept) != "hunter2" || len(begun) > 0 {
		t.Errorf("begun with lease %d and %q", h.Lease, h.Kept)
	}
}

// A process gives a run up, as at its end, before what it did is recorded.
func TestWhatAProcessCouldNotRecordComesWithTheNextLease(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	given := make(chan inbound.HandedOver, 4)
	e, die := s.start(func(h inbound.HandedOver) inbound.MovedOn {
		given <- h
		if h.Lease == 1 {
			return inbound.MovedOn{IsKept: h.Keep(context.Background(), []byte("hunter2")) == nil}
		}
		return inbound.MovedOn{Rests: true}
	})
	defer die()
	id := run.ID(system.Random{}.ID(run.IDPrefix))
	s.handOver(e, id, 1)
	<-given
	s.handOver(e, id, 2)
	s.ends(e, id, "handed-on")
	if h := <-given; h.Lease != 2 || string(h.Kept) != "hunter2" {
		t.Errorf("begun with lease %d and %q", h.Lease, h.Kept)
	}
}
