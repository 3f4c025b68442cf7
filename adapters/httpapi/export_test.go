package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

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

// FillRoom takes all the room that a tenant may have for large runs and pages.
func FillRoom(a *API, owner tenant.ID) (leave func(), ok bool) {
	h := &holding{room: a.room, owner: owner}
	return h.giveBack, h.tryTake(roomOfTenant)
}

// ShrinkRoom leaves a fraction of the room.
func ShrinkRoom(a *API, whole, share int) { a.room = newRoom(whole, share) }

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

// RoomTaken is how many bytes of runs and pages are held.
func RoomTaken(a *API) int {
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	return a.room.taken
}

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
