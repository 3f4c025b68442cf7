package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Ports are what the API calls.
type Ports struct {
	Accounts    inbound.Accounts // nil leaves the console out
	Admission   inbound.Admission
	AnswerPages inbound.AnswerPages
	AuditLog    inbound.AuditLog
	APIKeys     inbound.APIKeys
	EmbedTokens inbound.EmbedTokens
	EmbedPages  inbound.EmbedPages
	Completions inbound.Completions
	Connections inbound.Connections
	Consents    inbound.Consents
	CustomNodes inbound.CustomNodes
	Firing      inbound.Firing
	Hooks       inbound.Hooks
	HookIntake  inbound.HookIntake
	Jobs        inbound.Jobs
	Erasures    inbound.Erasures
	ListChanges inbound.ListChanges
	Memberships inbound.Memberships
	NodeChecks  inbound.NodeChecks
	NodeSecrets inbound.NodeSecrets
	Nodes       inbound.Nodes
	Pauses      inbound.Pauses
	Processes   inbound.Processes
	Publishing  inbound.Publishing
	Runs        inbound.Runs
	Schedules   inbound.Schedules
	Settings    inbound.Settings
	SubTenants  inbound.SubTenants
	Templates   inbound.Templates
	Tenants     inbound.Tenants
	Triggers    inbound.Triggers
	Trying      inbound.Trying
	Usage       inbound.Usage
	Versions    inbound.Versions
	Workflows   inbound.Workflows

	HookDeliveries    inbound.HookDeliveries
	WebhookEndpoints  inbound.WebhookEndpoints
	WebhookDeliveries inbound.WebhookDeliveries

	OperatorRuns    inbound.OperatorRuns
	OperatorUsage   inbound.OperatorUsage
	SignInElsewhere inbound.SignInElsewhere // needed with Accounts

	ForgottenPasswords inbound.ForgottenPasswords // needed with Accounts
}

// Options are the operator's choices, and what else the API needs.
type Options struct {
	Log            zerolog.Logger
	MaxBody        int64    // greatest size of a request body in bytes
	AllowedOrigins []string // origins that browsers may call from; "*" for any
	TrustedProxies []string // address ranges whose X-Forwarded-For is believed

	Memory stream.Memory // what requests share; its budgets are needed unless HealthOnly

	// BodyTimeout is how long a body may take in any case, as the server bounds it; 0 for no
	// such bound.
	BodyTimeout time.Duration

	// PublicURL is where browsers reach the gateway. The console needs it.
	PublicURL func() string

	// Pages serve the console and the editor to browsers, and have no state; nil where there are none.
	Pages Pages

	// OperatorTokens let the operator in. Where they are nil there is nothing below /v1/operator.
	OperatorTokens *operator.Tokens

	Observers []Observer // of every request, in this order when it begins

	HealthOnly bool // leaves the API out: the process is a worker and only answers health checks

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
	exchange exchange.Exchange
	memory   *stream.Memory
	console  *console.Console // nil where there is none

	registries registries

	streams         context.Context //nolint:containedctx // see Options.Streams
	places          stream.Places
	confirmInterval time.Duration // how often a stream asks whether its key may still read it

	undescribed  []Route           // the engine's routes that the description leaves out
	literalPaths map[string]string // the methods of paths that a path with a parameter fits as well
}

var _ http.Handler = (*API)(nil)

// New builds the API. It fails when a route performs an operation that the table
// of permissions does not hold, or when a trusted proxy is no address range.
func New(ports Ports, opts Options) (*API, error) {
	a := &API{ports: ports, opts: opts, confirmInterval: confirmInterval, streams: opts.Streams}
	if a.streams == nil {
		a.streams = context.Background()
	}
	if err := a.newEngine(); err != nil {
		return nil, err
	}
	a.exchange.Now = opts.Now
	a.serveOpen(opts.HealthOnly)
	if opts.HealthOnly {
		return a, nil
	}
	var err error
	if a.memory, err = opts.Memory.Complete(); err != nil {
		return nil, err
	}
	a.exchange.MaxBody, a.exchange.BodyTimeout, a.exchange.Memory, a.exchange.Address = opts.MaxBody, opts.BodyTimeout, a.memory, a.client
	for _, r := range a.routes() {
		if _, ok := r.operation.Access(tenant.Secret); !ok {
			return nil, fmt.Errorf("route %s %s: the operation %q is not in the table of permissions", r.method, r.path, r.operation)
		}
		a.engine.Handle(r.method, r.path, a.admitted(r))
	}
	a.serveConsole()
	a.refuseShadowed(a.routes())
	a.serveHooks()
	a.serveConsent()
	a.serveAnswerPages()
	a.serveEmbedPages()
	a.serveOperator()
	return a, nil
}

// newEngine prepares the router.
func (a *API) newEngine() error {
	gin.SetMode(gin.ReleaseMode)
	a.engine = gin.New()
	e := a.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.UseRawPath = true // an escaped slash belongs to an identifier, which is then unknown
	e.UnescapePathValues = true
	if err := e.SetTrustedProxies(a.opts.TrustedProxies); err != nil {
		return fmt.Errorf("trusted proxies: %w", err)
	}
	e.Use(a.middleware()...)
	e.NoRoute(a.noRoute)
	e.NoMethod(a.wrongMethod)
	return nil
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }

// Route is a method and a path in the notation of the API description.
type Route struct {
	Method, Path string
}

// Routes lists every route that the API description has.
func (a *API) Routes() []Route {
	var all []Route
	for _, r := range a.engine.Routes() {
		if route := (Route{r.Method, openAPIPath(r.Path)}); !slices.Contains(a.undescribed, route) {
			all = append(all, route)
		}
	}
	return all
}
