package telemetry

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Values that stand for all those that clients make up.
const (
	unmatched   = "unmatched" // a path that no route fits
	otherMethod = "other"     // a method that HTTP does not define
)

// durations are the upper bounds of the buckets of the requests' duration, in
// seconds: from what a cached read takes to what a client waits for at most.
var durations = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Request is a request of the API that was answered: who asked for what with which result,
// and nothing of what was sent.
type Request struct {
	Method    string
	Route     string // template of the path, empty for a path that no route fits
	Status    int
	Took      time.Duration
	RequestID string
	Tenant    tenant.ID      // empty while unknown
	KeyType   tenant.KeyType // empty where no key was recognized
	Code      string         // of the error that was answered, empty where there was none
}

// RequestBegan counts a request as being handled, until [Metrics.RequestEnded].
func (m *Metrics) RequestBegan() { m.requests.inFlight.Inc() }

// RequestEnded counts an answered request, and what the limits said to it.
func (m *Metrics) RequestEnded(r Request) {
	m.requests.inFlight.Dec()
	s := m.requests.of(r)
	s.count.Inc()
	s.duration.Observe(r.Took.Seconds())
	m.limiter.decided(r)
}

// requests counts the requests. Each is counted without an allocation or a lock: the
// series of a route and status are looked up in the library once, and kept.
type requests struct {
	count    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge

	mu       sync.Mutex // held while resolved is replaced
	resolved atomic.Pointer[map[requestKey]series]
}

type requestKey struct {
	method, route string
	status        int
}

type series struct {
	count    prometheus.Counter
	duration prometheus.Observer
}

func newRequests(register promauto.Factory) *requests {
	r := &requests{
		count: register.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "Requests of the API that were answered.",
		}, []string{"method", "route", "status"}),
		duration: register.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Buckets: durations,
			Help: "How long requests of the API took, from their header to the end of the answer.",
		}, []string{"method", "route"}),
		inFlight: register.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "http_requests_in_flight", Help: "Requests of the API that are being handled.",
		}),
	}
	r.resolved.Store(&map[requestKey]series{})
	return r
}

// methods are those that HTTP defines (RFC 9110, section 9, and RFC 5789).
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// methodLabel keeps clients from making up values of the label.
func methodLabel(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return otherMethod
}

func routeLabel(route string) string {
	if route == "" {
		return unmatched
	}
	return route
}

func (r *requests) of(q Request) series {
	key := requestKey{methodLabel(q.Method), routeLabel(q.Route), q.Status}
	if s, ok := (*r.resolved.Load())[key]; ok {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(*r.resolved.Load())
	s := series{
		count:    r.count.WithLabelValues(key.method, key.route, strconv.Itoa(key.status)),
		duration: r.duration.WithLabelValues(key.method, key.route),
	}
	next[key] = s
	r.resolved.Store(&next)
	return s
}
