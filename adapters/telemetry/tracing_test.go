package telemetry_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// receiver is an OTLP/HTTP receiver that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	paths    []string
	resource []*common.KeyValue
	spans    []*tracepb.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.take(req); err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(req *http.Request) error {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(req.Body); err != nil {
			return err
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var sent collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &sent); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths = append(r.paths, req.URL.Path)
	for _, rs := range sent.GetResourceSpans() {
		r.resource = rs.GetResource().GetAttributes()
		for _, ss := range rs.GetScopeSpans() {
			r.spans = append(r.spans, ss.GetSpans()...)
		}
	}
	return nil
}

// exported is what a test looks at of a span.
type exported struct {
	Name, Kind, Status string
	Attributes         []string // sorted
	Child              bool     // it has a parent
}

func (r *receiver) exported() []exported {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]exported, 0, len(r.spans))
	for _, s := range r.spans {
		all = append(all, exported{s.GetName(), s.GetKind().String(), s.GetStatus().GetCode().String(), texts(s.GetAttributes()), len(s.GetParentSpanId()) > 0})
	}
	slices.SortStableFunc(all, func(a, b exported) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func texts(attributes []*common.KeyValue) []string {
	all := make([]string, 0, len(attributes))
	for _, a := range attributes {
		value := a.GetValue().GetStringValue()
		if value == "" {
			value = fmt.Sprint(a.GetValue().GetIntValue())
		}
		all = append(all, a.GetKey()+"="+value)
	}
	slices.Sort(all)
	return all
}

func startTracing(t *testing.T, r *receiver) *telemetry.Tracing {
	t.Helper()
	tracing, err := telemetry.NewTracing(t.Context(), r.URL+"/v1/traces", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return tracing
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	caller  = "00-" + traceID + "-b7ad6b7169203331-01" // W3C Trace Context, the example in section 3.2.4
)

func TestARequestsSpanSaysWhoAskedForWhatAndNothingThatWasSent(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "gateway-eu")
	r := newReceiver(t)
	tracing := startTracing(t, r)

	ctx := tracing.RequestBegan(t.Context(), http.Header{"Traceparent": {caller}, "X-Api-Key": {"sk_secret"}}, "POST", "/v1/gateway/triggers/:id")
	tracing.RequestEnded(ctx, telemetry.Request{
		Method: "POST", Route: "/v1/gateway/triggers/:id", Status: 201, RequestID: "req_1", Tenant: "tenant_1",
	})
	ctx = tracing.RequestBegan(t.Context(), http.Header{}, "BREW", "")
	tracing.RequestEnded(ctx, telemetry.Request{Method: "BREW", Status: 503, RequestID: "req_2", Code: "not_ready"})
	if len(r.exported()) > 0 {
		t.Error("spans were sent one by one")
	}
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []exported{
		{"POST /v1/gateway/triggers/:id", "SPAN_KIND_SERVER", "STATUS_CODE_UNSET", []string{
			"http.request.method=POST", "http.response.status_code=201", "http.route=/v1/gateway/triggers/:id",
			"sluice.request.id=req_1", "sluice.tenant.id=tenant_1",
		}, true},
		{"other unmatched", "SPAN_KIND_SERVER", "STATUS_CODE_ERROR", []string{
			"error.type=not_ready", "http.request.method=other", "http.response.status_code=503", "sluice.request.id=req_2",
		}, false},
	}
	if diff := gocmp.Diff(want, r.exported()); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprintf("%x", r.spans[0].GetTraceId()); got != traceID {
		t.Errorf("the trace is %s, not the client's", got)
	}
	if got := strings.Join(texts(r.resource), " "); !strings.Contains(got, "service.name=gateway-eu") || !strings.Contains(got, "service.version=1.2.3") {
		t.Errorf("the process calls itself %s", got)
	}
	if !slices.Equal(r.paths, []string{"/v1/traces"}) {
		t.Errorf("sent to %v", r.paths)
	}
}

func TestTheSamplerIsTheOneThatTheEnvironmentNames(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	r := newReceiver(t)
	tracing := startTracing(t, r)
	ctx := tracing.RequestBegan(t.Context(), http.Header{}, "GET", "/")
	tracing.RequestEnded(ctx, telemetry.Request{Method: "GET", Route: "/", Status: 200})
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.exported(); len(got) > 0 {
		t.Errorf("exported %v", got)
	}
}

// unit is a unit of work that runs fn as often as it is told and then fails as it is
// told. What a database does to a unit is of no concern here.
type unit struct {
	runs int
	err  error
}

func (u unit) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	var err error
	for range u.runs {
		err = fn(ctx, outbound.Stores{})
	}
	return errors.Join(err, u.err)
}

func (u unit) View(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return u.Do(ctx, fn)
}

func (u unit) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return u.Do(ctx, fn)
}

func TestUnitsOfWorkAreSpansBelowTheirRequest(t *testing.T) {
	r := newReceiver(t)
	tracing := startTracing(t, r)
	ctx := tracing.RequestBegan(t.Context(), http.Header{}, "GET", "/")
	inside := 0
	count := func(context.Context, outbound.Stores) error { inside++; return nil }
	secret := errors.New("pq: value sk_123 too long")
	for _, u := range []struct {
		unit
		want error
	}{{unit{runs: 1}, nil}, {unit{runs: 3}, nil}, {unit{runs: 1, err: secret}, secret}} {
		if err := tracing.UnitOfWork(u.unit).Do(ctx, count); !errors.Is(err, u.want) {
			t.Errorf("the unit ended with %v", err)
		}
	}
	if err := tracing.UnitOfWork(unit{runs: 1}).Read(ctx, count); err != nil {
		t.Error(err)
	}
	missing := domain.Fail(domain.NotFound, "trigger_not_found", "There is none.")
	if err := tracing.UnitOfWork(unit{runs: 1}).View(ctx, func(context.Context, outbound.Stores) error { return missing }); !errors.Is(err, domain.NotFound) {
		t.Errorf("the view ended with %v", err)
	}
	tracing.RequestEnded(ctx, telemetry.Request{Method: "GET", Route: "/", Status: 200, RequestID: "req_1"})
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	const internal, unset, failed = "SPAN_KIND_INTERNAL", "STATUS_CODE_UNSET", "STATUS_CODE_ERROR"
	want := []exported{
		{"GET /", "SPAN_KIND_SERVER", unset, []string{"http.request.method=GET", "http.response.status_code=200", "http.route=/", "sluice.request.id=req_1"}, false},
		{"read", internal, unset, []string{"sluice.unit.runs=1"}, true},
		{"unit of work", internal, unset, []string{"sluice.unit.runs=1"}, true},
		{"unit of work", internal, unset, []string{"sluice.unit.runs=3"}, true},
		{"unit of work", internal, failed, []string{"error.type=internal failure", "sluice.unit.runs=1"}, true},
		{"view", internal, unset, []string{"error.type=not found", "sluice.unit.runs=1"}, true},
	}
	if diff := gocmp.Diff(want, r.exported()); diff != "" || inside != 6 {
		t.Errorf("%d runs: %s", inside, diff)
	}
}

func TestNothingIsWrappedWhereNothingIsTraced(t *testing.T) {
	var none *telemetry.Tracing
	ctx := t.Context()
	if got := none.RequestBegan(ctx, http.Header{"Traceparent": {caller}}, "GET", "/"); got != ctx {
		t.Error("the context was changed")
	}
	none.RequestEnded(ctx, telemetry.Request{})
	var work outbound.UnitOfWork = unit{runs: 1}
	if none.UnitOfWork(work) != work {
		t.Error("the unit of work was wrapped")
	}
	var own outbound.TriggerInserter = inserter{}
	if none.TriggerInserter(own) != own {
		t.Error("the inserter was wrapped")
	}
	if err := none.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// inserter adds triggers, or fails to.
type inserter struct{ err error }

func (inserter) Parallel() int { return 3 }

func (i inserter) Insert(context.Context, []*outbound.NewTrigger) error { return i.err }

func TestAddingTriggersTogetherIsTraced(t *testing.T) {
	r := newReceiver(t)
	tracing := startTracing(t, r)
	ctx := tracing.RequestBegan(t.Context(), http.Header{"Traceparent": {caller}}, "POST", "/triggers")
	if traced := tracing.TriggerInserter(inserter{}); traced.Parallel() != 3 || traced.Insert(ctx, make([]*outbound.NewTrigger, 2)) != nil {
		t.Error("the inserter does something else")
	}
	failure := errors.New("the text of a client")
	if err := tracing.TriggerInserter(inserter{failure}).Insert(ctx, nil); !errors.Is(err, failure) {
		t.Errorf("it ended with %v", err)
	}
	tracing.RequestEnded(ctx, telemetry.Request{Method: "POST", Route: "/triggers", Status: 201, RequestID: "req_1"})
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	const internal, unset, failed = "SPAN_KIND_INTERNAL", "STATUS_CODE_UNSET", "STATUS_CODE_ERROR"
	want := []exported{
		{"POST /triggers", "SPAN_KIND_SERVER", unset, []string{"http.request.method=POST", "http.response.status_code=201", "http.route=/triggers", "sluice.request.id=req_1"}, true},
		{"insert triggers", internal, unset, []string{"sluice.batch.size=2"}, true},
		{"insert triggers", internal, failed, []string{"error.type=internal failure", "sluice.batch.size=0"}, true},
	}
	if diff := gocmp.Diff(want, r.exported()); diff != "" {
		t.Error(diff)
	}
}

func TestALogLineNamesTheSpanThatItBelongsTo(t *testing.T) {
	var out bytes.Buffer
	log := zerolog.New(&out).Hook(telemetry.LogTraces{})
	tracing := startTracing(t, newReceiver(t))
	ctx := tracing.RequestBegan(t.Context(), http.Header{"Traceparent": {caller}}, "GET", "/")
	log.Info().Ctx(ctx).Msg("inside")
	log.Info().Msg("outside")
	inside, outside, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(inside, `"traceId":"`+traceID+`","spanId":"`) || strings.Contains(outside, "traceId") {
		t.Errorf("logged %s", out.String())
	}
	if err := tracing.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAReceiverThatIsGoneDoesNotStopTheGatewayFromStopping(t *testing.T) {
	r := newReceiver(t)
	tracing := startTracing(t, r)
	ctx := tracing.RequestBegan(t.Context(), http.Header{}, "GET", "/")
	tracing.RequestEnded(ctx, telemetry.Request{Method: "GET", Route: "/", Status: 200})
	r.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracing.Shutdown(ended); err == nil {
		t.Error("nobody heard that spans were lost")
	}
}
