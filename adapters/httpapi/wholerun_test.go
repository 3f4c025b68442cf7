package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// sized has runs of every size, which their identifiers say: run_…16 gave 16 MiB.
type sized struct {
	inbound.Runs
	inbound.Trying
	read chan run.ID // each as it is read
	kept chan int    // how long what is recorded for repeats is
}

func sizedRun(mebibytes int) run.ID { return run.ID(fmt.Sprintf("run_%026d", mebibytes)) }

var mebibyte = ranRun(1, 1<<20)

func (s sized) Get(_ context.Context, _ tenant.Caller, id run.ID) (inbound.ShownRun, error) {
	s.read <- id
	return give(id)
}

func give(id run.ID) (inbound.ShownRun, error) {
	var size int
	if _, err := fmt.Sscanf(string(id), "run_%d", &size); err != nil {
		return inbound.ShownRun{}, err
	}
	state := mebibyte.State()
	one := state.Nodes[0]
	state.Nodes, state.Executed = nil, nil
	for i := range size {
		one.ID = workflow.NodeID(fmt.Sprint("n", i)) // they share one output
		state.Nodes, state.Executed = append(state.Nodes, one), append(state.Executed, one.ID)
	}
	return inbound.ShownRun{Run: run.Restore(state)}, nil
}

// Cancel gives the run, of which an idempotency key asks for a record.
func (s sized) Cancel(_ context.Context, _ tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, _ string) (run.Summary, error) {
	found, err := give(id)
	if err != nil {
		return run.Summary{}, err
	}
	changed := found.Run.Summary()
	if !idempotency.Wanted() {
		return changed, nil
	}
	record, err := idempotency.Answer(changed)
	s.kept <- len(record)
	return changed, err
}

// Retry does the same.
func (s sized) Retry(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID) (run.Summary, error) {
	return s.Cancel(ctx, who, idempotency, id, "")
}

// Simulate gives a simulation into whose nodes 1 MiB flows each, as many as the name of
// the entity has letters. What an idempotency key asks for is made.
func (s sized) Simulate(_ context.Context, _ tenant.Caller, idempotency domain.IdempotencyKey, _ workflow.VersionID, c run.SimulationCall) (inbound.Simulated, error) {
	done := inbound.Simulated{Inputs: map[workflow.NodeID]json.RawMessage{}}
	state := mebibyte.State()
	one, output := state.Nodes[0], state.Nodes[0].Output
	state.Nodes, state.Executed = nil, nil
	for i := range len(*c.Entity) {
		one.ID, one.Output = workflow.NodeID(fmt.Sprint("n", i)), json.RawMessage("1")
		state.Nodes = append(state.Nodes, one)
		done.Inputs[one.ID] = output
	}
	done.Run = run.Restore(state)
	if idempotency.Wanted() {
		if _, err := idempotency.Answer(done); err != nil {
			return inbound.Simulated{}, err
		}
	}
	return done, nil
}

// reader asks for a run and reads nothing of the answer yet.
func (s *streamEnv) reader(id run.ID) net.Conn {
	s.Helper()
	return s.asks(http.MethodGet, string(id), "")
}

// asks does so for what is below the path of runs. Each header ends its line.
func (s *streamEnv) asks(method, path, headers string) net.Conn {
	s.Helper()
	return s.sends(method, runsPath+"/"+path, headers, "")
}

func (s *streamEnv) sends(method, path, headers, body string) net.Conn {
	s.Helper()
	client, server := net.Pipe()
	s.clients = append(s.clients, client)
	s.conns <- server
	if _, err := fmt.Fprintf(client, "%s %s HTTP/1.1\r\nHost: gateway\r\nX-API-Key: sk_1\r\nContent-Length: %d\r\n%s\r\n%s", method, path, len(body), headers, body); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
	return client
}

// answered is the status of an answer, with its code or whether it was as long as it
// said.
func answered(conn net.Conn) string {
	got, err := http.ReadResponse(bufio.NewReaderSize(conn, 64<<10), nil)
	if err != nil {
		return err.Error()
	}
	defer got.Body.Close()
	if got.StatusCode == http.StatusOK {
		size, err := io.Copy(io.Discard, got.Body)
		return fmt.Sprint("200, whole: ", err == nil && size == got.ContentLength)
	}
	var said struct{ Code string }
	if err := json.NewDecoder(got.Body).Decode(&said); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s after %s", got.StatusCode, said.Code, got.Header.Get("Retry-After"))
}

// crowded runs a test in which two readers, who read nothing, hold 30 of the 32 MiB that
// their tenant may have.
func crowded(t *testing.T, test func(s *streamEnv, api *httpapi.API, slow []net.Conn)) {
	t.Helper()
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.Runs = sized{read: make(chan run.ID, 100)}
		api, _ := s.server.Handler.(*httpapi.API)
		var slow []net.Conn
		for range 2 {
			slow = append(slow, s.reader(sizedRun(15)))
		}
		if got := httpapi.PagesHeld(api) >> 20; got != 30 {
			t.Fatalf("%d MiB are held", got)
		}
		test(s, api, slow)
	})
}

// timesRead is how often a run was read.
func (s *streamEnv) timesRead(id run.ID) (n int) {
	runs, _ := s.runs.Runs.(sized)
	for len(runs.read) > 0 {
		if <-runs.read == id {
			n++
		}
	}
	return n
}

func TestAReaderOfALargeRunWaitsForMemory(t *testing.T) {
	crowded(t, func(s *streamEnv, api *httpapi.API, slow []net.Conn) {
		large := s.reader(sizedRun(14))
		if got := answered(s.reader(sizedRun(0))); got != "200, whole: true" {
			t.Errorf("a small run meanwhile: %s", got)
		}
		if got := answered(slow[0]); got != "200, whole: true" {
			t.Errorf("one that begins to read: %s", got)
		}
		if got := answered(large); got != "200, whole: true" {
			t.Errorf("who waited for it: %s", got)
		}
		if got := s.timesRead(sizedRun(14)); got != 2 {
			t.Errorf("it was read %d times: who waits holds nothing", got)
		}
		synctest.Wait()
		if got := httpapi.PagesHeld(api) >> 20; got != 15 {
			t.Errorf("%d MiB are held", got)
		}
	})
}

func TestAReaderWithoutMemoryIsAskedToComeBack(t *testing.T) {
	crowded(t, func(s *streamEnv, api *httpapi.API, _ []net.Conn) {
		asked := time.Now()
		if got := answered(s.reader(sizedRun(5))); got != "503 runs_busy after 1" || time.Since(asked) != 5*time.Second {
			t.Errorf("after %v: %s", time.Since(asked), got)
		}
		if got := answered(s.reader(sizedRun(1))); got != "200, whole: true" {
			t.Errorf("a run for which there is room: %s", got)
		}
		if got := s.timesRead(sizedRun(5)); got != 1 {
			t.Errorf("it was read %d times", got)
		}
		gone := s.reader(sizedRun(5))
		_ = gone.Close() // a pipe always closes
		synctest.Wait()
		for want := ""; want != "client_gone"; want = (<-s.seen).Code {
			if len(s.seen) == 0 {
				t.Fatal("who went away while it waited waits still")
			}
		}
		if got := httpapi.PagesHeld(api) >> 20; got != 30 {
			t.Errorf("%d MiB are held", got)
		}
	})
}

func TestAReaderThatIsTooSlowIsCutOffAndItsMemoryGivenBack(t *testing.T) {
	crowded(t, func(s *streamEnv, api *httpapi.API, slow []net.Conn) {
		_ = slow[0].Close() // a pipe always closes
		synctest.Wait()
		if got := httpapi.PagesHeld(api) >> 20; got != 15 {
			t.Errorf("when one is gone, %d MiB are held", got)
		}
		time.Sleep(2*time.Minute - time.Second)
		if got := httpapi.PagesHeld(api) >> 20; got != 15 {
			t.Errorf("before their time is over, %d MiB are held", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := httpapi.PagesHeld(api); got != 0 {
			t.Errorf("%d bytes are held", got)
		}
		for _, conn := range slow[1:] {
			if got := answered(conn); got != "EOF" && got != "unexpected EOF" && got != "200, whole: false" {
				t.Errorf("who was too slow: %s", got)
			}
		}
		for range slow {
			if o := <-s.seen; o.Status != http.StatusOK || o.Code != "connection_cut" || o.Bytes > 1<<20 {
				t.Errorf("it is seen as %+v", o)
			}
		}
		if n := strings.Count(s.log.String(), `"code":"connection_cut","cause":"`); n != len(slow) {
			t.Errorf("the log says %s", s.log.String())
		}
		if got := answered(s.reader(sizedRun(15))); got != "200, whole: true" {
			t.Errorf("who comes then: %s", got)
		}
	})
}

// Whether a run can be cancelled is not for those to say who read others slowly, and what
// is kept of the answer is small however large the run is.
func TestARunIsCancelledAndRetriedWithoutMemory(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		api, _ := s.server.Handler.(*httpapi.API)
		runs := sized{read: make(chan run.ID, 2), kept: make(chan int, 2)}
		s.runs.Runs = runs
		for _, owner := range []tenant.ID{"tenant_a", "tenant_b", "tenant_c", "tenant_d"} {
			leave, ok := httpapi.FillPages(api, owner)
			if !ok {
				t.Fatalf("there is no room for %s", owner)
			}
			defer leave()
		}
		full := httpapi.PagesHeld(api)
		for _, request := range []string{"/cancel", "/retry"} {
			for _, headers := range []string{"", "X-Idempotency-Key: k\r\n"} {
				asked := time.Now()
				client := s.asks(http.MethodPost, string(sizedRun(15))+request, headers)
				if got := answered(client); got != "200, whole: true" || time.Since(asked) != 0 {
					t.Errorf("%s with %q: %s after %v", request, headers, got, time.Since(asked))
				}
			}
			if kept := <-runs.kept; kept > 1000 {
				t.Errorf("%s: %d bytes are kept", request, kept)
			}
		}
		if got := httpapi.PagesHeld(api); got != full || full != 128<<20 {
			t.Errorf("%d bytes are held, and %d were", got, full)
		}
		if got := answered(s.reader(sizedRun(15))); got != "503 runs_busy after 1" {
			t.Errorf("who reads meanwhile: %s", got)
		}
	})
}

func TestTwoTenantsWhoReadSlowlyLeaveMemoryToAThird(t *testing.T) {
	crowded(t, func(s *streamEnv, api *httpapi.API, _ []net.Conn) {
		for _, owner := range []tenant.ID{"tenant_b", "tenant_c"} {
			if _, ok := httpapi.FillPages(api, owner); !ok {
				t.Errorf("%s has no room", owner)
			}
		}
	})
}

// passed is a run all of whose nodes passed its payload on, of so many bytes.
func passed(nodes, size int) *run.Run {
	state := ranRun(nodes, 0).State()
	state.Payload = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
	for i := range state.Nodes {
		state.Nodes[i].Output, state.Nodes[i].OutputIsInput = nil, true
	}
	return run.Restore(state)
}

// The answer is hundreds of times what is stored, and what is held is not.
func TestWhatNodesPassOnIsHeldOnce(t *testing.T) {
	const nodes, size = 200, 256 << 10
	withStreamEnv(t, func(s *streamEnv) {
		api, _ := s.server.Handler.(*httpapi.API)
		s.runs.Runs = oneRun{run: passed(nodes, size)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		client := s.reader(streamedRun)
		if got := httpapi.PagesHeld(api); got != size {
			t.Errorf("%d bytes are held", got)
		}
		got, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		length, err := io.Copy(io.Discard, got.Body)
		runtime.ReadMemStats(&after)
		if err != nil || length != got.ContentLength || length < (2*nodes+1)*size {
			t.Errorf("of %d bytes, %d arrived: %v", got.ContentLength, length, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*size {
			t.Errorf("%d bytes were allocated for a run of %d", allocated, size)
		}
	})
}

func TestASimulationThatShowsTooMuchIsRefused(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		api, _ := s.server.Handler.(*httpapi.API)
		s.runs.Trying = sized{}
		for mebibytes, want := range map[int]string{63: "200, whole: true", 64: "400 simulation_too_large after "} {
			for _, key := range []string{"", "X-Idempotency-Key: k\r\n"} {
				if mebibytes == 63 && key != "" {
					continue // which would be made
				}
				body := `{"entityId":"` + strings.Repeat("x", mebibytes) + `"}`
				client := s.sends(http.MethodPost, "/v1/gateway/workflow-versions/wfv_0000000000000000000000000v/simulate", key, body)
				if got := answered(client); got != want {
					t.Errorf("%d MiB with %q: %s", mebibytes, key, got)
				}
			}
		}
		synctest.Wait()
		if got := httpapi.PagesHeld(api); got != 0 {
			t.Errorf("%d bytes are held", got)
		}
	})
}

// filled is a call with eventData of about as many bytes.
func filled(size int) string { return `{"eventData":{"filler":"` + strings.Repeat("x", size) + `"}}` }

// large is what a call holds whose run is no small one.
const large = 70_000

func TestLargeRunsBehindTheWholeGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	httpapi.MaxWait(g.api, 20*time.Millisecond)
	e := g.fixture("Acme")
	g.addRuns(e)
	started := func(size int) string {
		return fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflows/"+e.ids["workflows"]+"/runs", e.secret, filled(size)).field(t, "id"))
	}
	simulated := "/v1/gateway/workflow-versions/" + e.ids["activeVersion"] + "/simulate"
	t.Run("what is about one is refused before it happens", func(t *testing.T) { g.refusesLargeRuns(t, e, simulated, started(large), started(100)) })
	t.Run("an answer is given again as it was", func(t *testing.T) { g.repeatsLargeAnswers(t, e, simulated, started(large)) })
	if got := httpapi.PagesHeld(g.api); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// refusesLargeRuns: where there is no room, a simulation is not done, so that it can be
// asked for again. Small runs need none, nor do commands, which answer without documents.
func (g *gateway) refusesLargeRuns(t *testing.T, e fixture, simulated, id, small string) {
	t.Helper()
	before := g.send(http.MethodPost, simulated, e.secret, filled(large+1), "X-Idempotency-Key", "before")
	leave, ok := httpapi.FillPages(g.api, e.id)
	if !ok {
		t.Fatal("there is no room")
	}
	requests := []struct{ method, path, body, busy, then string }{
		{http.MethodPost, simulated, filled(large + 1), "503 runs_busy 1", "200"}, // which was done before
		{http.MethodGet, runsPath + "/" + id, "", "503 runs_busy 1", "200"},
		{http.MethodGet, operatorRunsPath + "/" + id, "", "503 runs_busy 1", "200"},
		{http.MethodPost, runsPath + "/" + id + "/retry", "", "409", "409"},
		{http.MethodPost, runsPath + "/" + id + "/cancel", "", "200", "409"},
		{http.MethodPost, simulated, filled(large), "503 runs_busy 1", "200"},
		{http.MethodGet, runsPath + "/" + small, "", "200", "200"},
		{http.MethodPost, simulated, filled(100), "200", "200"},
		{http.MethodGet, runsPath + "/run_00000000000000000000000000", "", "404", "404"},
		{http.MethodPost, runsPath + "/run_00000000000000000000000000/cancel", "", "404", "404"},
	}
	send := func(method, path, body string) answer {
		if strings.HasPrefix(path, operatorRunsPath) {
			return g.operate(method, path, body)
		}
		if body == filled(large+1) {
			return g.send(method, path, e.secret, body, "X-Idempotency-Key", "before")
		}
		return g.send(method, path, e.secret, body)
	}
	told := func(a answer) string {
		if a.status != http.StatusServiceUnavailable {
			return fmt.Sprint(a.status)
		}
		return fmt.Sprint(a.status, " ", a.field(t, "code"), " ", a.header.Get("Retry-After"))
	}
	for _, r := range requests {
		if diff := cmp.Diff(r.busy, told(send(r.method, r.path, r.body))); diff != "" {
			t.Errorf("%s %s, while there is no room: %s", r.method, r.path, diff)
		}
	}
	leave()
	for _, r := range requests {
		if diff := cmp.Diff(r.then, told(send(r.method, r.path, r.body))); diff != "" {
			t.Errorf("%s %s, when there is: %s", r.method, r.path, diff)
		}
	}
	if got := send(http.MethodPost, simulated, filled(large+1)); got.body != before.body || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("what was done before got %d with %d bytes and %v", got.status, len(got.body), got.header)
	}
}

// repeatsLargeAnswers: what was recorded is what was sent, to its last byte.
func (g *gateway) repeatsLargeAnswers(t *testing.T, e fixture, simulated, id string) {
	t.Helper()
	first := g.send(http.MethodPost, simulated, e.secret, filled(large), "X-Idempotency-Key", "k")
	again := g.send(http.MethodPost, simulated, e.secret, filled(large), "X-Idempotency-Key", "k")
	length := fmt.Sprint(len(first.body))
	if first.status != http.StatusOK || len(first.body) < large || first.header.Get("Content-Length") != length {
		t.Errorf("it got %d with %d bytes and %v", first.status, len(first.body), first.header)
	}
	if again.status != first.status || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Content-Length") != length {
		t.Errorf("it got %d with %d bytes and %v the second time", again.status, len(again.body), again.header)
	}
	shown := g.send(http.MethodGet, runsPath+"/"+id, e.secret, "")
	if _, tagged := shown.header["Etag"]; shown.header.Get("Content-Length") != fmt.Sprint(len(shown.body)) || tagged {
		t.Errorf("the run has %d bytes and %v", len(shown.body), shown.header)
	}
	if got := g.send(http.MethodHead, runsPath+"/"+id, e.secret, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, DELETE" {
		t.Errorf("its head got %d %v", got.status, got.header)
	}
}
