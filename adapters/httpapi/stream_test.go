package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

const streamedRun = run.ID("run_0000000000000000000000000r")

// followedRuns has one run, whose history it tells as it is told to.
type followedRuns struct {
	inbound.Runs
	state  run.State
	follow func(ctx context.Context, after int64, tell func([]run.Entry) error) error
}

func (f *followedRuns) Get(context.Context, tenant.Caller, run.ID) (inbound.ShownRun, error) {
	return inbound.ShownRun{Run: run.Restore(f.state)}, nil
}

func (f *followedRuns) Follow(ctx context.Context, _ tenant.Caller, _ run.ID, after int64, tell func([]run.Entry) error) error {
	return f.follow(ctx, after, tell)
}

// doorman admits everybody as one tenant, and counts who is inside.
type doorman struct{ inside atomic.Int64 }

func (d *doorman) Admit(context.Context, string, tenant.Operation) (inbound.Admitted, error) {
	d.inside.Add(1)
	left := false
	return inbound.Admitted{
		Caller: tenant.Caller{Tenant: "tenant_a", KeyType: tenant.Secret, Settings: tenant.Settings{
			Quotas: map[tenant.KeyType]tenant.Quota{tenant.Secret: {PerMinute: 1000, Concurrent: 2}},
		}},
		Leave: func() {
			if !left {
				d.inside.Add(-1)
			}
			left = true
		},
	}, nil
}

// station serves the API on pipes, with the bounds that the gateway has.
type station struct {
	*testing.T
	runs    *followedRuns
	door    *doorman
	log     *safeBuffer
	seen    chan httpapi.Observation // of all requests; holds a few
	server  *http.Server
	end     context.CancelFunc // ends all streams
	conns   chan net.Conn
	clients []net.Conn
}

var _ net.Listener = (*station)(nil)

// Accept waits for a client.
func (s *station) Accept() (net.Conn, error) {
	conn, ok := <-s.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Begin is told of a request.
func (s *station) Begin(r *http.Request, _ string) context.Context { return r.Context() }

// End keeps what is known of it.
func (s *station) End(_ context.Context, o httpapi.Observation) { s.seen <- o }

// Close stops waiting for clients.
func (s *station) Close() error {
	close(s.conns)
	return nil
}

// Addr is that of no network.
func (s *station) Addr() net.Addr { return &net.IPAddr{} }

// stationed runs a test on a virtual clock.
func stationed(t *testing.T, test func(s *station)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &station{T: t, runs: &followedRuns{}, door: &doorman{}, log: &safeBuffer{}, seen: make(chan httpapi.Observation, 16), conns: make(chan net.Conn)}
		s.runs.state = run.State{Origin: run.Origin{ID: streamedRun, Tenant: "tenant_a"}, Status: run.StatusRunning, Seq: 1}
		streams, end := context.WithCancel(context.Background())
		s.end = end
		api, err := httpapi.New(httpapi.Ports{Admission: s.door, Runs: s.runs}, httpapi.Options{
			Log: zerolog.New(s.log), MaxBody: 1 << 20, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" }, Streams: streams,
			Observers: []httpapi.Observer{s},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.server = &http.Server{Handler: api, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute}
		go func() {
			if err := s.server.Serve(s); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		test(s)
		end()
		for _, c := range s.clients {
			_ = c.Close() // some tests did
		}
		if err := s.server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// head is an answer of which the head was read. Its body ends with its connection.
type head struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// ask sends a request for the stream and reads the answer's head; headers are lines.
func (s *station) ask(query string, headers ...string) (head, net.Conn) {
	s.Helper()
	client, server := net.Pipe()
	s.clients = append(s.clients, client)
	s.conns <- server
	_, err := fmt.Fprintf(client, "GET /v1/gateway/runs/%s/stream%s HTTP/1.1\r\nHost: gateway\r\nX-API-Key: sk_1\r\n%s\r\n",
		streamedRun, query, strings.Join(append(headers, ""), "\r\n"))
	if err != nil {
		s.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(client, 16), nil) //nolint:bodyclose // it ends with its connection
	if err != nil {
		s.Fatal(err)
	}
	return head{answer.StatusCode, answer.Header, answer.Body}, client
}

func (s *station) read(r io.Reader) string {
	s.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		s.Errorf("after %q: %v", text, err)
	}
	return string(text)
}

const (
	greeting  = ": the history of a run\n\n"
	heartbeat = ": still here\n\n"
	first     = "id: 1\nevent: run.started\ndata: {\"seq\":1,\"type\":\"run.started\",\"at\":\"2026-11-21T12:00:00.000Z\"}\n\n"
	last      = "id: 2\nevent: run.failed\ndata: {\"seq\":2,\"type\":\"run.failed\",\"at\":\"2026-11-21T15:00:00.000Z\",\"nodeId\":\"a\",\"code\":\"http_503\",\"message\":\"two\\nlines\"}\n\n"
	ending    = "event: end\ndata: {\"status\":\"failed\"}\n\n"
)

var (
	started = run.Entry{Seq: 1, At: noon, Type: run.EntryRunStarted}
	failed  = run.Entry{Seq: 2, At: noon.Add(3 * time.Hour), Type: run.EntryRunFailed, Node: "a", Code: "http_503", Message: "two\nlines"}
)

func TestAStreamOutlivesTheBoundsOfARequest(t *testing.T) {
	stationed(t, func(s *station) {
		s.runs.follow = func(ctx context.Context, _ int64, tell func([]run.Entry) error) error {
			err := tell([]run.Entry{started})
			for range 3 * 60 * 4 {
				time.Sleep(15 * time.Second)
				err = errors.Join(err, ctx.Err(), tell(nil))
			}
			return errors.Join(err, tell([]run.Entry{failed}))
		}
		answer, _ := s.ask("")
		if diff := cmp.Diff(http.Header{
			"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-store"}, "X-Accel-Buffering": {"no"}, "X-Content-Type-Options": {"nosniff"},
			"X-Request-Id": {"req_1"}, "Date": answer.Header["Date"],
		}, answer.Header); diff != "" || answer.StatusCode != http.StatusOK {
			s.Errorf("%d: %s", answer.StatusCode, diff)
		}
		if diff := cmp.Diff(greeting+first+strings.Repeat(heartbeat, 3*60*4)+last+ending, s.read(answer.Body)); diff != "" {
			s.Error(diff)
		}
		synctest.Wait()
		if strings.Contains(s.log.String(), "cause") || !strings.Contains(s.log.String(), `"durationMs":10800000`) {
			s.Error(s.log)
		}
		if seen := <-s.seen; seen.Took != 0 || seen.Bytes == 0 {
			s.Errorf("it is measured as %+v", seen)
		}
	})
}

func TestAClientHearsAtOnceThatItIsListening(t *testing.T) {
	stationed(t, func(s *station) {
		s.runs.state.Status, s.runs.state.Seq = run.StatusPending, 0
		s.runs.follow = func(ctx context.Context, _ int64, _ func([]run.Entry) error) error {
			<-ctx.Done()
			return ctx.Err()
		}
		begun := time.Now()
		answer, _ := s.ask("")
		text := make([]byte, len(greeting))
		if _, err := io.ReadFull(answer.Body, text); err != nil || string(text) != greeting || time.Since(begun) > 0 {
			s.Errorf("after %s it hears %q: %v", time.Since(begun), text, err)
		}
	})
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	stationed(t, func(s *station) {
		over := make(chan error, 1)
		s.runs.follow = func(_ context.Context, _ int64, tell func([]run.Entry) error) error {
			for {
				if err := tell(nil); err != nil {
					over <- err
					return err
				}
				time.Sleep(15 * time.Second)
			}
		}
		begun := time.Now()
		answer, _ := s.ask("")
		if _, err := io.ReadFull(answer.Body, make([]byte, len(greeting+heartbeat))); err != nil {
			s.Error(err)
		}
		err := <-over // since nothing else is read: the second heartbeat, and the bound
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < 30*time.Second || took > 45*time.Second {
			s.Errorf("it was cut off after %s: %v", took, err)
		}
	})
}

func TestAGatewayThatStopsEndsItsStreams(t *testing.T) {
	stationed(t, func(s *station) {
		s.runs.follow = func(ctx context.Context, _ int64, tell func([]run.Entry) error) error {
			err := tell([]run.Entry{started})
			<-ctx.Done()
			return errors.Join(err, ctx.Err())
		}
		answer, _ := s.ask("")
		text := make([]byte, len(greeting+first))
		if _, err := io.ReadFull(answer.Body, text); err != nil {
			s.Error(err)
		}
		at := time.Now()
		s.end()
		if rest := s.read(answer.Body); rest != "" || time.Since(at) > 0 {
			s.Errorf("after %s it ends with %q", time.Since(at), rest)
		}
		if strings.Contains(s.log.String(), "cause") {
			s.Errorf("that is no failure: %s", s.log)
		}
		late, _ := s.ask("")
		if body := s.read(late.Body); late.StatusCode != http.StatusServiceUnavailable || late.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"stopping"`) {
			s.Errorf("another one got %d: %s", late.StatusCode, body)
		}
	})
}

func TestAStreamThatBreaksEndsWithoutItsLastEvent(t *testing.T) {
	stationed(t, func(s *station) {
		s.runs.follow = func(_ context.Context, _ int64, tell func([]run.Entry) error) error {
			return errors.Join(tell([]run.Entry{started}), errors.New("the database is gone"))
		}
		answer, _ := s.ask("")
		if text := s.read(answer.Body); text != greeting+first {
			s.Errorf("it ends with %q", text)
		}
		synctest.Wait()
		if !strings.Contains(s.log.String(), "the database is gone") {
			s.Errorf("the log does not tell: %s", s.log)
		}
	})
}

func TestAStreamGoesOnBehindWhatTheClientHas(t *testing.T) {
	stationed(t, func(s *station) {
		var asked []int64
		s.runs.follow = func(_ context.Context, after int64, tell func([]run.Entry) error) error {
			asked = append(asked, after)
			return tell([]run.Entry{failed})
		}
		s.runs.state.Status, s.runs.state.Seq = run.StatusFailed, 2
		type got struct {
			status int
			body   string
		}
		code := func(text string) string {
			_, rest, _ := strings.Cut(text, `"code":"`)
			found, _, _ := strings.Cut(rest, `"`)
			return found
		}
		for claim, c := range map[string]struct {
			query, header string
			want          got
		}{
			"nothing is said":                  {"", "", got{200, greeting + last + ending}},
			"the parameter":                    {"?after=1", "", got{200, greeting + last + ending}},
			"the header":                       {"", "Last-Event-ID: 1", got{200, greeting + last + ending}},
			"the header counts more":           {"?after=7", "Last-Event-ID: 1", got{200, greeting + last + ending}},
			"everything, by the header":        {"", "Last-Event-ID: 2", got{204, ""}},
			"everything, by the parameter":     {"?after=2", "", got{204, ""}},
			"more than there is, by header":    {"", "Last-Event-ID: 3", got{400, "last_event_id_invalid"}},
			"more than there is, by parameter": {"?after=3", "", got{400, "stream_invalid"}},
			"no number in the header":          {"", "Last-Event-ID: run.started", got{400, "last_event_id_invalid"}},
			"a negative number in the header":  {"", "Last-Event-ID: -1", got{400, "last_event_id_invalid"}},
			"no number in the parameter":       {"?after=x", "", got{400, "stream_invalid"}},
			"a query that is none":             {"?after=%", "", got{400, "malformed_query"}},
		} {
			var headers []string
			if c.header != "" {
				headers = []string{c.header}
			}
			answer, _ := s.ask(c.query, headers...)
			body := s.read(answer.Body)
			if answer.StatusCode == http.StatusBadRequest {
				body = code(strings.ReplaceAll(body, `"details":[{`, "")[strings.Index(body, `"path"`):])
			}
			if diff := cmp.Diff(c.want, got{answer.StatusCode, body}, cmp.AllowUnexported(got{})); diff != "" {
				s.Errorf("%s: %s", claim, diff)
			}
		}
		for _, after := range asked {
			if after > 1 {
				s.Errorf("it was followed behind entry %d", after)
			}
		}
	})
}

func TestStreamsHavePlacesOfTheirOwn(t *testing.T) {
	stationed(t, func(s *station) {
		s.runs.follow = func(ctx context.Context, _ int64, _ func([]run.Entry) error) error {
			<-ctx.Done()
			return ctx.Err()
		}
		listen := func() (head, net.Conn) {
			answer, conn := s.ask("")
			if answer.StatusCode == http.StatusOK {
				if _, err := io.ReadFull(answer.Body, make([]byte, len(greeting))); err != nil {
					s.Error(err)
				}
			}
			return answer, conn
		}
		_, one := listen()
		listen()
		if inside := s.door.inside.Load(); inside != 0 {
			s.Errorf("%d streams keep places of requests", inside)
		}
		third, _ := listen()
		if body := s.read(third.Body); third.StatusCode != http.StatusTooManyRequests || third.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"too_many_streams"`) {
			s.Errorf("one more than the tenant may have got %d: %s", third.StatusCode, body)
		}
		if err := one.Close(); err != nil {
			s.Error(err)
		}
		synctest.Wait()
		if again, _ := listen(); again.StatusCode != http.StatusOK {
			s.Errorf("the place of a client that went away is not free: %d", again.StatusCode)
		}
	})
}
