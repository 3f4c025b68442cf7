package httpapi

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// A run has up to [run.MaxOutputs] of outputs and its payload, which is a request's body,
// and is held until its reader has them. Runs above smallRun bytes, and pages above
// smallPage, are held in [Options.Pages].
const smallRun = 64 << 10

// patience is how long a request waits for its turn and for memory.
const patience = 5 * time.Second

// While a run or a page is read it takes several times its size for a moment, so that only
// a few are at the same time.
const mostReading = 4

// errRunsBusy says that there was no room for a run.
var errRunsBusy = func() error {
	e := domain.Fail(domain.Unavailable, "runs_busy", "Too many large runs are being read at the moment. Try again in a second.")
	e.RetryAfter = time.Second
	return e
}()

// patiently is a context that ends, with busy as its cause, when somebody has waited long
// enough.
func (a *API) patiently(ctx context.Context, busy error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.patience, busy)
}

// turns lets a few do something at the same time.
type turns chan struct{}

// enter waits for a turn until ctx ends; the error then is its cause. A turn that is free
// is had in any case.
func (t turns) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turns) leave() { <-t }

// weight is how many bytes a run holds with more that belongs to it, 0 for a small one.
// What a node only passed on is held once, however often it is shown.
func weight(r *run.Run, more int) int {
	size := len(r.Payload()) + more
	for _, n := range r.Nodes() {
		size += len(n.Output)
	}
	if size <= smallRun {
		return 0
	}
	return size
}

// holdRun reads a run and reserves memory for it. Where there is none, it lets go of the run,
// waits, and reads it again: whoever waits holds nothing.
func (a *API) holdRun(ctx context.Context, who tenant.Caller, id run.ID, held *reservation) (inbound.ShownRun, error) {
	waiting, stop := a.patiently(ctx, errRunsBusy)
	defer stop()
	for {
		found, err := a.readRun(ctx, waiting, who, id)
		if err != nil {
			return inbound.ShownRun{}, err
		}
		size := weight(found.Run, 0)
		if held.has(size) || held.tryReplace(size) {
			return found, nil
		}
		found = inbound.ShownRun{}
		if err = held.replace(waiting, size); err != nil {
			return found, err
		}
	}
}

func (a *API) readRun(ctx, waiting context.Context, who tenant.Caller, id run.ID) (inbound.ShownRun, error) {
	if err := a.reading.enter(waiting); err != nil {
		return inbound.ShownRun{}, err
	}
	defer a.reading.leave()
	return a.ports.Runs.Get(ctx, who, id)
}
