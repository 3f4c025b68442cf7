package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/budget"
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

// IsToken says whether a text proves the operator's token.
func IsToken(t OperatorToken, text string) bool { return t.is(text) }

// ConfirmEvery sets how often it is asked whether who listens to a stream still may.
func ConfirmEvery(a *API, pause time.Duration) { a.confirming = pause }

// Patience sets how long a request waits for its turn and for room.
func Patience(a *API, within time.Duration) { a.patience = within }

// Budgeted gives options the budgets that they lack, of 128 MiB and of four turns.
func Budgeted(o Options) Options {
	if o.Intake == nil {
		o.Intake = budget.New(128 << 20)
	}
	if o.Pages == nil {
		o.Pages = budget.New(128 << 20)
	}
	if o.Simulations == nil {
		o.Simulations = budget.NewShared(4, 2)
	}
	return o
}

// Held is what requests hold of each budget.
func Held(a *API) map[string]int64 {
	return map[string]int64{"intake": used(a.opts.Intake), "pages": used(a.opts.Pages), "simulations": used(a.opts.Simulations)}
}

func used(b Budget) int64 {
	if known, ok := b.(*budget.Budget); ok {
		return known.Used()
	}
	return -1
}

// FillPages takes all that a tenant may hold of large runs and pages.
func FillPages(a *API, owner tenant.ID) (leave func(), ok bool) {
	h := &reservation{budget: a.opts.Pages, owner: owner}
	return h.release, h.tryReplace(32 << 20)
}

// LimitPages leaves a fraction of the memory for large runs and pages.
func LimitPages(a *API, whole int64) { a.opts.Pages = budget.New(whole) }

// TakeTurns takes all the turns to read.
func TakeTurns(a *API) (leave func()) {
	for range mostReading {
		a.reading <- struct{}{}
	}
	return func() {
		for range mostReading {
			a.reading.leave()
		}
	}
}

// PagesHeld is how many bytes of runs and pages are held.
func PagesHeld(a *API) int { return int(used(a.opts.Pages)) }

// Behind returns an engine with one route, whose handler stands behind everything
// that every request passes, and beside it the same engine without that.
func Behind(opts Options, method, path string, who tenant.Caller, body []byte) (whole, bare http.Handler) {
	gin.SetMode(gin.ReleaseMode)
	a := &API{opts: opts}
	engine, plain := gin.New(), gin.New()
	engine.Use(a.middleware()...)
	engine.Handle(method, path, func(c *gin.Context) {
		note(c, who)
		write(c, http.StatusOK, body)
	})
	plain.Handle(method, path, func(c *gin.Context) { write(c, http.StatusOK, body) })
	return engine, plain
}
