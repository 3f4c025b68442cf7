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
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

const streamedRun = run.ID("run_0000000000000000000000000r")

// followedRuns has one run, whose history it tells as it is told to.
type followedRuns struct {
	inbound.Runs
	inbound.Trying
	follow func(ctx context.Context, after int64, send func([]run.Entry) error) error
}

// Inputs shows none.
func (*followedRuns) Inputs(context.Context, tenant.Caller, *run.Run, int) (map[workflow.NodeID]run.ShownInput, int) {
	return nil, 0
}

func (f *followedRuns) Follow(ctx context.Context, _ tenant.Caller, _ run.ID, after int64, send func([]run.Entry) error) error {
	return f.follow(ctx, after, send)
}

// fakeAdmission admits everybody as one tenant, except sk_2, and counts who is inside.
type fakeAdmission struct {
	inside    atomic.Int64
	confirmed atomic.Int64
	confirm   atomic.Pointer[error] // what it says of those inside; nil that they may stay
}

func (d *fakeAdmission) Confirm(_ context.Context, with inbound.Credentials, op tenant.Operation) error {
	d.confirmed.Add(1)
	if said := d.confirm.Load(); said != nil && with.Key == "sk_1" && op == tenant.FollowRun {
		return *said
	}
	return nil
}

func (d *fakeAdmission) Admit(_ context.Context, with inbound.Credentials, _ tenant.Operation) (inbound.Admitted, error) {
	d.inside.Add(1)
	left, owner := false, tenant.ID("tenant_a")
	if with.Key == "sk_2" {
		owner = "tenant_b"
	}
	return inbound.Admitted{
		Caller: tenant.Caller{Scope: tenant.All(owner), KeyType: tenant.Secret, Settings: tenant.Settings{
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

// streamEnv serves the API on pipes, with the bounds that the gateway has.
type streamEnv struct {
	*testing.T
	runs      *followedRuns
	lists     *sizedTriggers
	admission *fakeAdmission
	log       *portstest.SafeBuffer
	seen      chan httpapi.Observation // of all requests; holds a few
	server    *http.Server
	end       context.CancelFunc // ends all streams
	conns     chan net.Conn
	clients   []net.Conn
}

var _ net.Listener = (*streamEnv)(nil)

// Accept waits for a client.
func (s *streamEnv) Accept() (net.Conn, error) {
	conn, ok := <-s.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Begin is told of a request.
func (s *streamEnv) Begin(r *http.Request, _ string) context.Context { return r.Context() }

// End keeps what is known of it.
func (s *streamEnv) End(_ context.Context, o httpapi.Observation) { s.seen <- o }

// Close stops waiting for clients.
func (s *streamEnv) Close() error {
	close(s.conns)
	return nil
}

// Addr is that of no network.
func (s *streamEnv) Addr() net.Addr { return &net.IPAddr{} }

// stationed runs a test on a virtual clock.
func withStreamEnv(t *testing.T, test func(s *streamEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &streamEnv{T: t, runs: &followedRuns{}, lists: newSizedTriggers(), admission: &fakeAdmission{}, log: &portstest.SafeBuffer{}, seen: make(chan httpapi.Observation, 16), conns: make(chan net.Conn)}
		streams, end := context.WithCancel(context.Background())
		s.end = end
		api, err := httpapi.New(httpapi.Ports{Admission: s.admission, Runs: s.runs, Trying: s.runs, Triggers: s.lists}, httpapi.Budgeted(httpapi.Options{
			Log: zerolog.New(s.log), MaxBody: 1 << 20, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" }, Streams: streams,
			Observers: []httpapi.Observer{s},
		}))
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
func (s *streamEnv) ask(query string, headers ...string) (head, net.Conn) {
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

func (s *streamEnv) read(r io.Reader) string {
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
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = func(ctx context.Context, _ int64, send func([]run.Entry) error) error {
			err := send([]run.Entry{started})
			for range 3 * 60 * 4 {
				time.Sleep(15 * time.Second)
				err = errors.Join(err, ctx.Err(), send(nil))
			}
			return errors.Join(err, send([]run.Entry{failed}))
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
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = listens
		begun := time.Now()
		answer, _ := s.ask("")
		text := make([]byte, len(greeting))
		if _, err := io.ReadFull(answer.Body, text); err != nil || string(text) != greeting || time.Since(begun) > 0 {
			s.Errorf("after %s it hears %q: %v", time.Since(begun), text, err)
		}
	})
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		over := make(chan error, 1)
		s.runs.follow = func(_ context.Context, _ int64, send func([]run.Entry) error) error {
			for {
				if err := send(nil); err != nil {
					over <- err
					return err
				}
				time.Sleep(15 * time.Second)
			}
		}
		begun := time.Now()
		answer, _ := s.ask("")
		s.hear(answer, greeting)
		err := <-over // since nothing else is read: the first heartbeat, and the bound
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < 30*time.Second || took > 45*time.Second {
			s.Errorf("it was cut off after %s: %v", took, err)
		}
	})
}

// listens is a run to which nothing happens any more.
func listens(ctx context.Context, _ int64, send func([]run.Entry) error) error {
	err := send([]run.Entry{started})
	<-ctx.Done()
	return errors.Join(err, ctx.Err())
}

// hear reads what a stream says at first.
func (s *streamEnv) hear(answer head, want string) {
	s.Helper()
	text := make([]byte, len(want))
	if _, err := io.ReadFull(answer.Body, text); err != nil || string(text) != want {
		s.Errorf("it says %q, not %q: %v", text, want, err)
	}
}

func TestAGatewayThatStopsEndsItsStreamsAndSaysWhenToComeBack(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = listens
		answer, _ := s.ask("")
		s.hear(answer, greeting+first)
		at := time.Now()
		s.end()
		rest := s.read(answer.Body)
		retry, said, _ := strings.Cut(strings.TrimPrefix(rest, "retry: "), "\n")
		wait, err := strconv.Atoi(retry)
		if want := "event: closed\ndata: {\"code\":\"stopping\",\"message\":\"This gateway is about to stop and begins no streams. Ask again.\"}\n\n"; said != want ||
			err != nil || wait < 250 || wait > 500 || time.Since(at) > 0 {
			s.Errorf("after %s it ends with %q", time.Since(at), rest)
		}
		synctest.Wait()
		if strings.Contains(s.log.String(), "cause") {
			s.Errorf("that is no failure: %s", s.log)
		}
		late, _ := s.ask("")
		if body := s.read(late.Body); late.StatusCode != http.StatusServiceUnavailable || late.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"stopping"`) {
			s.Errorf("another one got %d: %s", late.StatusCode, body)
		}
	})
}

func TestAGatewayThatStopsWaitsForNoClientThatDoesNotRead(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		over := make(chan time.Time, 1)
		s.runs.follow = func(_ context.Context, _ int64, send func([]run.Entry) error) error {
			defer func() { over <- time.Now() }()
			return send([]run.Entry{started})
		}
		answer, _ := s.ask("")
		s.hear(answer, greeting)
		time.Sleep(5 * time.Second)
		at := time.Now()
		s.end()
		if took := (<-over).Sub(at); took > time.Second {
			s.Errorf("it waited for %s", took)
		}
	})
}

func TestAStreamEndsSoonAfterItsListenerMayNotListenAnyMore(t *testing.T) {
	revoked := domain.Fail(domain.Unauthenticated, "unauthenticated", "A valid API key is required in the header X-API-Key.")
	for claim, c := range map[string]struct {
		said error
		want string // the last event; empty for a stream that goes on
	}{
		"the key is revoked, or the tenant is suspended": {
			revoked, "event: closed\ndata: {\"code\":\"unauthenticated\",\"message\":\"A valid API key is required in the header X-API-Key.\"}\n\n",
		},
		"the key's type may not": {
			domain.Fail(domain.Forbidden, "key_type_not_allowed", "No."), "event: closed\ndata: {\"code\":\"key_type_not_allowed\",\"message\":\"No.\"}\n\n",
		},
		"nobody can say": {domain.Fail(domain.Unavailable, "database_unavailable", "Gone."), ""},
	} {
		t.Run(claim, func(t *testing.T) {
			withStreamEnv(t, func(s *streamEnv) {
				s.runs.follow = listens
				answer, _ := s.ask("")
				s.hear(answer, greeting+first)
				time.Sleep(21 * time.Second)
				if n := s.admission.confirmed.Load(); n != 10 {
					s.Errorf("it was asked %d times in 21 seconds", n)
				}
				s.admission.confirm.Store(&c.said)
				at := time.Now()
				if c.want == "" {
					time.Sleep(5 * time.Second)
					s.end()
					if rest := s.read(answer.Body); !strings.Contains(rest, `"stopping"`) {
						s.Errorf("it ended with %q", rest)
					}
					return
				}
				if rest := s.read(answer.Body); rest != c.want || time.Since(at) > 2*time.Second {
					s.Errorf("after %s it ends with %q", time.Since(at), rest)
				}
				synctest.Wait()
				if strings.Contains(s.log.String(), "cause") {
					s.Errorf("that is no failure: %s", s.log)
				}
			})
		})
	}
}

func TestAStreamThatBreaksSaysSoAndNotWhy(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = func(_ context.Context, _ int64, send func([]run.Entry) error) error {
			return errors.Join(send([]run.Entry{started}), errors.New("the database is gone"))
		}
		answer, _ := s.ask("")
		text := s.read(answer.Body)
		if !regexp.MustCompile("^" + regexp.QuoteMeta(greeting+first) + `retry: 1\d\d\d\nevent: closed\ndata: \{"code":"internal_error","message":"Something went wrong [^"]*"}\n\n$`).MatchString(text) {
			s.Errorf("it ends with %q", text)
		}
		synctest.Wait()
		if !strings.Contains(s.log.String(), "the database is gone") {
			s.Errorf("the log does not tell: %s", s.log)
		}
	})
}

func TestAStreamOfARunThatIsDeletedSaysSo(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = func(_ context.Context, _ int64, send func([]run.Entry) error) error {
			return errors.Join(send(nil), domain.Fail(domain.NotFound, "run_not_found", "There is no such run any more."))
		}
		answer, _ := s.ask("")
		if text, want := s.read(answer.Body), greeting+"event: closed\ndata: {\"code\":\"run_not_found\",\"message\":\"There is no such run any more.\"}\n\n"; text != want {
			s.Errorf("it says %q", text)
		}
	})
}

func TestAStreamGoesOnBehindWhatTheClientHas(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		var asked []int64
		s.runs.follow = func(_ context.Context, after int64, send func([]run.Entry) error) error {
			asked = append(asked, after)
			switch {
			case after == 2:
				return nil
			case after > 2:
				return domain.Fail(domain.Invalid, "stream_invalid", "The parameters of the stream are not valid.")
			}
			return send([]run.Entry{failed})
		}
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
				_, body, _ = strings.Cut(body, `"path"`) // behind the codes of the details
				body = code(body)
			}
			if diff := cmp.Diff(c.want, got{answer.StatusCode, body}, cmp.AllowUnexported(got{})); diff != "" {
				s.Errorf("%s: %s", claim, diff)
			}
		}
		for _, after := range asked {
			if after > 3 {
				s.Errorf("it was followed behind entry %d", after)
			}
		}
	})
}

func TestStreamsHavePlacesOfTheirOwn(t *testing.T) {
	withStreamEnv(t, func(s *streamEnv) {
		s.runs.follow = listens
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
		if inside := s.admission.inside.Load(); inside != 0 {
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
