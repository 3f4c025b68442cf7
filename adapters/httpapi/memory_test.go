package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// busy does what tenant A asks for when it is told to, and what others ask for at once.
type busy struct {
	inbound.Firing
	inbound.Trying
	let func(ctx context.Context) error
}

func (b busy) ByEvent(ctx context.Context, who tenant.Caller, _ domain.IdempotencyKey, _ run.EventCall) ([]run.Fired, error) {
	if who.Tenant() == "tenant_a" {
		return nil, b.let(ctx)
	}
	return nil, nil
}

func (b busy) Simulate(ctx context.Context, who tenant.Caller, _ domain.IdempotencyKey, _ workflow.VersionID, _ run.SimulationCall) (inbound.Simulated, error) {
	found := inbound.Simulated{Trace: run.Trace{Run: run.New("run_1", run.Start{}, time.Time{})}}
	if who.Tenant() == "tenant_a" {
		return found, b.let(ctx)
	}
	return found, nil
}

const (
	byEvent      = "/v1/gateway/triggers/webhook/by-event"
	simulatePath = "/v1/gateway/workflow-versions/wfv_01jd2vqk3mfx8s9t0v5w7y1z2a/simulate"
)

// little is an API that has little memory, and whose requests for it.
type memoryEnv struct {
	*testing.T
	api    *httpapi.API
	intake *budget.Budget
	let    func(context.Context) error
}

// withLittleMemory runs a test on a virtual clock, with 16 MiB of which a tenant gets 4.
func withLittleMemory(t *testing.T, test func(l *memoryEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &memoryEnv{T: t, intake: budget.New(16 << 20), let: func(context.Context) error { return nil }}
		b := busy{let: func(ctx context.Context) error { return l.let(ctx) }}
		api, err := httpapi.New(httpapi.Ports{Admission: &fakeAdmission{}, Firing: b, Trying: b}, httpapi.Budgeted(httpapi.Options{
			Log: zerolog.Nop(), MaxBody: 1 << 20, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" }, Memory: stream.Memory{Intake: l.intake, SimulationBytes: 3 << 20},
		}))
		if err != nil {
			t.Fatal(err)
		}
		l.api = api
		test(l)
		synctest.Wait()
		nothingHeld(t, api)
	})
}

// posts sends a body and returns what it got.
func (l *memoryEnv) posts(ctx context.Context, path, key, body string) string {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-API-Key", key)
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }() // as the server does
		l.api.ServeHTTP(w, r)
	}()
	got := answer{w.Code, w.Header(), w.Body.String()}
	if got.status == http.StatusOK || got.body == "" {
		return fmt.Sprint(got.status)
	}
	return strings.TrimSpace(fmt.Sprint(got.status, " ", got.field(l.T, "code"), " ", got.header.Get("Retry-After")))
}

// hostile is a body of so many bytes that takes seven times as much when it is read.
func hostile(size int) string {
	return `{"event":"e","eventData":[` + strings.Repeat(`"aa",`, size/5) + `0]}`
}

func TestOneTenantsHostileBodiesLeaveMemoryToAnother(t *testing.T) {
	withLittleMemory(t, func(l *memoryEnv) {
		end := make(chan struct{})
		l.let = func(context.Context) error { <-end; return nil }
		said, all, mu := map[string]int{}, sync.WaitGroup{}, sync.Mutex{}
		for range 50 {
			all.Go(func() {
				got := l.posts(l.Context(), byEvent, "sk_1", hostile(200<<10))
				mu.Lock()
				defer mu.Unlock()
				said[got]++
			})
		}
		synctest.Wait()
		if got := l.intake.Used(); got > 4<<20 || got < 2<<20 {
			t.Errorf("of 50 requests %d bytes are held", got)
		}
		for range 3 {
			if got := l.posts(l.Context(), byEvent, "sk_2", hostile(200<<10)); got != "200" {
				t.Errorf("another tenant gets %s", got)
			}
		}
		if l.intake.Waiting() == 0 {
			t.Error("nobody waits")
		}
		close(end)
		all.Wait()
		if said["200"] != 50 {
			t.Errorf("of 50 that waited their turn: %v", said)
		}
	})
}

func TestWhoWaitsForMemoryForTooLongIsAskedToComeBack(t *testing.T) {
	withLittleMemory(t, func(l *memoryEnv) {
		end := make(chan struct{})
		l.let = func(context.Context) error { <-end; return nil }
		said, all, mu := map[string]int{}, sync.WaitGroup{}, sync.Mutex{}
		for range 50 {
			all.Go(func() {
				got := l.posts(l.Context(), byEvent, "sk_1", hostile(200<<10))
				mu.Lock()
				defer mu.Unlock()
				said[got]++
			})
		}
		time.Sleep(6 * time.Second) // of the virtual clock
		close(end)
		all.Wait()
		if said["200"]+said["503 memory_busy 1"] != 50 || said["200"] < 1 || said["200"] > 4 {
			t.Errorf("they got %v", said)
		}
	})
}

func TestNothingIsHeldHoweverARequestEnds(t *testing.T) {
	large := hostile(100 << 10)
	for claim, c := range map[string]struct {
		body string
		let  func(context.Context) error
		want string
	}{
		"it succeeds":                          {large, func(context.Context) error { return nil }, "200"},
		"it fails":                             {large, func(context.Context) error { return domain.Fail(domain.Conflict, "no", "No.") }, "409 no"},
		"it has a defect":                      {large, func(context.Context) error { return errors.New("no") }, "500 internal_error"},
		"it panics":                            {large, func(context.Context) error { panic("no") }, "500 internal_error"},
		"its connection is cut":                {large, func(context.Context) error { panic(http.ErrAbortHandler) }, "200"},
		"its client goes":                      {large, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "499"},
		"its body is no JSON":                  {large + "}", nil, "400 malformed_json"},
		"its body is too large":                {hostile(1 << 20), nil, "413 body_too_large"},
		"its body holds more than can be read": {`{"event":"e","eventData":[` + strings.Repeat("0,", 500_000) + `0]}`, nil, "413 body_too_large"},
	} {
		withLittleMemory(t, func(l *memoryEnv) {
			l.let = c.let
			ctx, leave := context.WithCancel(l.Context())
			defer time.AfterFunc(time.Second, leave).Stop()
			if got := l.posts(ctx, byEvent, "sk_1", c.body); got != c.want {
				t.Errorf("%s: %s", claim, got)
			}
			if diff := cmp.Diff(map[string]int64{"intake": 0, "pages": 0, "simulations": 0}, httpapi.Held(l.api)); diff != "" {
				t.Errorf("%s: %s", claim, diff)
			}
		})
	}
}

func TestWhoGoesAwayWhileWaitingForMemoryHoldsNothing(t *testing.T) {
	withLittleMemory(t, func(l *memoryEnv) {
		if !l.intake.TryReserve("tenant_a", 4<<20) {
			t.Fatal("there is no memory")
		}
		ctx, leave := context.WithCancel(l.Context())
		said := make(chan string)
		go func() { said <- l.posts(ctx, byEvent, "sk_1", hostile(100<<10)) }()
		synctest.Wait()
		leave()
		if got := <-said; got != "499" || l.intake.Waiting() != 0 {
			t.Errorf("it got %s, and %d wait", got, l.intake.Waiting())
		}
		l.intake.Release("tenant_a", 4<<20)
	})
}

func TestOneTenantsSimulationsLeaveTurnsToAnother(t *testing.T) {
	withLittleMemory(t, func(l *memoryEnv) {
		ended := 0
		l.let = func(ctx context.Context) error { <-ctx.Done(); ended++; return ctx.Err() }
		ctx, leave := context.WithCancel(l.Context())
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { l.posts(ctx, simulatePath, "sk_1", hostile(10<<10)) })
		}
		synctest.Wait()
		if held := httpapi.Held(l.api); held["simulations"] > 2 || held["simulations"] == 0 || held["intake"] > 4<<20 {
			t.Errorf("of 50 simulations this is held: %v", held)
		}
		for range 4 {
			if got := l.posts(l.Context(), simulatePath, "sk_2", hostile(10<<10)); got != "200" {
				t.Errorf("another tenant gets %s", got)
			}
		}
		leave()
		all.Wait()
		if ended == 0 {
			t.Error("a simulation does not end with its client")
		}
	})
}

// sendsPart begins a request with a body of so many bytes, of which it sends a few.
func (s *streamEnv) sendsPart(path string, length int) net.Conn {
	s.Helper()
	client, server := net.Pipe()
	s.clients = append(s.clients, client)
	s.conns <- server
	if _, err := fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: gateway\r\nX-API-Key: sk_1\r\nContent-Length: %d\r\n\r\n{", path, length); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
	return client
}

func TestALargeBodyThatArrivesTooSlowlyHoldsNoMemory(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		api, _ := s.server.Handler.(*httpapi.API)
		began := time.Now()
		slow := s.sendsPart(runsPath+"/"+string(streamedRun)+"/cancel", 256<<10)
		if held := httpapi.Held(api)["intake"]; held != 8*256<<10 {
			t.Errorf("while it arrives, %d bytes are held", held)
		}
		if got := answered(slow); !strings.HasPrefix(got, "408 body_too_slow") || time.Since(began) != 7*time.Second+time.Second { // the second is what a refusal waits for the rest
			t.Errorf("after %v: %s", time.Since(began), got)
		}
		synctest.Wait()
		nothingHeld(t, api)
	})
}
