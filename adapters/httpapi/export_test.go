package httpapi

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Operations returns what each route behind the keys performs.
func Operations(a *API) map[Route]tenant.Operation {
	all := make(map[Route]tenant.Operation)
	for _, r := range a.routes() {
		all[Route{r.method, openAPIPath(r.path)}] = r.operation
	}
	return all
}

// MemberOperations returns what each route of members performs, as if it was behind the keys.
func MemberOperations(a *API) map[Route]tenant.Operation {
	all := Operations(a)
	for _, r := range a.memberRoutes() {
		all[Route{r.method, openAPIPath(r.path)}] = r.operation
	}
	return all
}

// ConsoleRoutes lists the routes of the console's interface, those of tenants' members without the errors of
// literal paths.
func ConsoleRoutes(a *API) []Route {
	var all []Route
	for _, r := range a.engine.Routes() {
		rest, ofTenant := console.OfTenant(r.Path)
		if console.Owns(r.Path) && (!ofTenant || !slices.Contains(shadowed(a.routes())[prefix+rest], r.Method)) {
			all = append(all, Route{r.Method, openAPIPath(r.Path)})
		}
	}
	return all
}

// ConfirmInterval sets how often a stream asks whether its key may still read it.
func ConfirmInterval(a *API, pause time.Duration) { a.confirmInterval = pause }

// MaxWait sets how long a request waits for its turn and for memory.
func MaxWait(a *API, within time.Duration) { a.memory.MaxWait = within }

// Budgeted gives options the budgets that they lack, of 128 MiB and of four turns.
func Budgeted(o Options) Options {
	m := &o.Memory
	if m.Intake == nil {
		m.Intake = budget.New(128 << 20)
	}
	if m.Pages == nil {
		m.Pages = budget.New(128 << 20)
	}
	if m.Simulations == nil {
		m.Simulations = budget.NewShared(4, 2)
	}
	return o
}

// Held is what requests hold of each budget.
func Held(a *API) map[string]int64 {
	if a.memory == nil {
		return map[string]int64{"intake": 0, "pages": 0, "simulations": 0}
	}
	return map[string]int64{"intake": used(a.memory.Intake), "pages": used(a.memory.Pages), "simulations": used(a.memory.Simulations)}
}

func used(b stream.Budget) int64 {
	if known, ok := b.(*budget.Budget); ok {
		return known.Used()
	}
	return -1
}

// FillPages takes all that a tenant may hold of large runs and pages.
func FillPages(a *API, owner tenant.ID) (leave func(), ok bool) {
	h := stream.Reserve(a.memory.Pages, owner)
	ok = h.TryReplace(32 << 20)
	return h.Release, ok
}

// LimitPages leaves a fraction of the memory for large runs and pages.
func LimitPages(a *API, whole int64) { a.memory.Pages = budget.New(whole) }

// TakeTurns takes all the turns to read.
func TakeTurns(a *API) (leave func()) {
	for range stream.MaxReading {
		a.memory.Reading <- struct{}{}
	}
	return func() {
		for range stream.MaxReading {
			a.memory.Reading.Release()
		}
	}
}

// TakeSimulations takes all the turns to simulate that a tenant may have, and has nobody wait for
// one.
func TakeSimulations(a *API, owner tenant.ID) (leave func()) {
	h := stream.Reserve(a.memory.Simulations, owner)
	h.TryReplace(int(a.memory.Simulations.Max()))
	a.memory.MaxWait = time.Millisecond
	return h.Release
}

// PagesHeld is how many bytes of runs and pages are held.
func PagesHeld(a *API) int { return int(used(a.memory.Pages)) }

// Behind returns an engine with one route behind all middleware, and the same engine
// without it.
func Behind(opts Options, method, path string, who tenant.Caller, body []byte) (whole, bare http.Handler) {
	gin.SetMode(gin.ReleaseMode)
	a := &API{opts: opts}
	engine, plain := gin.New(), gin.New()
	engine.Use(a.middleware()...)
	engine.Handle(method, path, func(c *gin.Context) {
		exchange.StateOf(c).Caller = who
		exchange.Write(c, http.StatusOK, body)
	})
	plain.Handle(method, path, func(c *gin.Context) { exchange.Write(c, http.StatusOK, body) })
	return engine, plain
}
