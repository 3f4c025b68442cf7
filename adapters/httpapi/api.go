package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Ports are what the API calls.
type Ports struct {
	Admission   inbound.Admission
	APIKeys     inbound.APIKeys
	CustomNodes inbound.CustomNodes
	Firing      inbound.Firing
	NodeChecks  inbound.NodeChecks
	NodeSecrets inbound.NodeSecrets
	Nodes       inbound.Nodes
	Runs        inbound.Runs
	Schedules   inbound.Schedules
	Settings    inbound.Settings
	SubTenants  inbound.SubTenants
	Tenants     inbound.Tenants
	Triggers    inbound.Triggers
	Versions    inbound.Versions
	Workflows   inbound.Workflows

	WebhookEndpoints  inbound.WebhookEndpoints
	WebhookDeliveries inbound.WebhookDeliveries
}

// Options are the operator's choices and what the API needs of its surroundings.
type Options struct {
	Log            zerolog.Logger
	MaxBody        int64    // greatest size of a request body in bytes
	AllowedOrigins []string // origins that browsers may call from; "*" for any
	TrustedProxies []string // address ranges whose X-Forwarded-For is believed

	// Intake is the memory for bodies of requests and what they become, and for simulations.
	// Pages is that for whole runs and large pages, until their readers have them.
	// Simulations are the turns to simulate. They are needed unless HealthOnly.
	Intake, Pages, Simulations Budget

	// SimulationBytes is how much of Intake a simulation takes at most; 0 for 64 MiB.
	SimulationBytes int

	// BodyTimeout is how long a body may take in any case, as the server bounds it; 0 for no
	// such bound.
	BodyTimeout time.Duration

	// OperatorToken lets the operator in. Without one there is nothing below /v1/operator.
	OperatorToken OperatorToken

	Observers []Observer // told of every request, in this order when it begins

	// HealthOnly leaves the API out: the process works for those that serve it, and says
	// only how it is.
	HealthOnly bool

	Now   func() time.Time           // the time shown in errors
	NewID func(prefix string) string // makes request identifiers
	Ready func(context.Context) error

	// Streams is done when open streams are to end, because the gateway is about to stop;
	// nil for never.
	Streams context.Context //nolint:containedctx // it outlives every request
}

// API serves the gateway's interface.
type API struct {
	ports    Ports
	opts     Options
	engine   *gin.Engine
	inFlight inFlight
	guesses  guesses

	registries registries
	pages      pages

	streams    context.Context //nolint:containedctx // see Options.Streams
	following  following
	confirming time.Duration // how often it is asked whether who listens to a stream still may
	reading    turns         // to read a whole run or a large page
	patience   time.Duration // how long a request waits for its turn and for memory

	refused    []Route           // what the engine routes only to answer that the method is wrong
	spelledOut map[string]string // the methods of paths that a path with a parameter fits as well
}

var _ http.Handler = (*API)(nil)

// New builds the API. It fails when a route performs an operation that the table
// of permissions does not hold, or when a trusted proxy is no address range.
func New(ports Ports, opts Options) (*API, error) {
	gin.SetMode(gin.ReleaseMode)
	a := &API{
		ports: ports, opts: opts, engine: gin.New(), confirming: confirmEvery,
		reading: make(turns, mostReading), patience: patience,
	}
	if a.streams = opts.Streams; a.streams == nil {
		a.streams = context.Background()
	}
	e := a.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.UseRawPath = true // an escaped slash belongs to an identifier, which is then unknown
	e.UnescapePathValues = true
	if err := e.SetTrustedProxies(opts.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	e.Use(a.middleware()...)
	e.NoRoute(a.noRoute)
	e.NoMethod(a.wrongMethod)
	e.GET(healthPath, a.health)
	e.GET(readinessPath, a.readiness)
	if opts.HealthOnly {
		return a, nil
	}
	if opts.Intake == nil || opts.Pages == nil || opts.Simulations == nil {
		return nil, errors.New("the API needs the budgets Intake, Pages and Simulations")
	}
	if opts.SimulationBytes == 0 {
		a.opts.SimulationBytes = simulationBytes
	}
	for _, r := range a.routes() {
		if _, ok := r.operation.Access(tenant.Secret); !ok {
			return nil, fmt.Errorf("route %s %s: the operation %q is not in the table of permissions", r.method, r.path, r.operation)
		}
		e.Handle(r.method, r.path, a.admitted(r))
	}
	a.refuseShadowed(a.routes())
	if opts.OperatorToken.given {
		for _, r := range a.operatorRoutes() {
			e.Handle(r.method, r.path, a.operated(r))
		}
	}
	a.serveOpen(e)
	return a, nil
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }

// Route is a method and a path in the notation of the API description.
type Route struct {
	Method, Path string
}

// Routes lists every route that is served.
func (a *API) Routes() []Route {
	var all []Route
	for _, r := range a.engine.Routes() {
		if route := (Route{r.Method, openAPIPath(r.Path)}); !slices.Contains(a.refused, route) {
			all = append(all, route)
		}
	}
	return all
}
