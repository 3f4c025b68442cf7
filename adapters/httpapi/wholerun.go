package httpapi

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// A run above smallRun bytes is held in the memory for pages until its reader has it: it has
// up to [run.MaxOutputs] of outputs, and its payload.
const smallRun = 64 << 10

// errRunsBusy says that there was no memory for a run.
var errRunsBusy = exchange.Busy("runs_busy", "Too many large runs are being read at the moment. Try again in a second.")

// weight is how many bytes a run holds with more that belongs to it, 0 for a small one.
// What a node only passed on is held once, however often it is shown.
func weight(r *run.Run, more int) int {
	size := len(r.Payload()) + min(r.ResultSize(), run.MaxOutput) + more
	for _, n := range r.Nodes() {
		size += len(n.Output)
	}
	if size <= smallRun {
		return 0
	}
	return size
}

// holdRun reads a run and reserves memory for it. If there is none, it drops the run, waits,
// and reads it again: who waits holds nothing.
func (a *API) holdRun(ctx context.Context, who tenant.Caller, id run.ID, held *stream.Reservation) (inbound.ShownRun, error) {
	waiting, stop := a.memory.Wait(ctx, errRunsBusy)
	defer stop()
	for {
		found, err := a.readRun(ctx, waiting, who, id)
		if err != nil {
			return inbound.ShownRun{}, err
		}
		size := weight(found.Run, weightOfLogs(found.Logs))
		if held.Has(size) || held.TryReplace(size) {
			return found, nil
		}
		found = inbound.ShownRun{}
		if err = held.Replace(waiting, size); err != nil {
			return found, err
		}
	}
}

// holdRunForOperator reads a run of which little is shown, and keeps memory for it until it is released.
func (a *API) holdRunForOperator(ctx context.Context, who tenant.Caller, id run.ID) (whole *run.Run, release func(), err error) {
	held := stream.Reserve(a.memory.Pages, who.Tenant())
	found, err := a.holdRun(ctx, who, id, &held)
	if err != nil {
		held.Release()
		return nil, nil, err
	}
	return found.Run, held.Release, nil
}

func weightOfLogs(logs map[workflow.NodeID][]string) (size int) {
	const header = 16 // of a string
	for _, lines := range logs {
		for _, line := range lines {
			size += header + len(line)
		}
	}
	return size
}

// inputsTimeout is how long a reader waits for what flowed into the nodes of a run.
const inputsTimeout = time.Second

// inputs computes what flowed into the nodes of a run, as far as there is memory for it besides
// that for the run.
func (a *API) inputs(ctx context.Context, who tenant.Caller, r *run.Run, more *stream.Reservation) map[workflow.NodeID]run.ShownInput {
	most := run.MaxOutput
	if !more.TryReplace(most) {
		most = 0
		if weight(r, 0) == 0 {
			most = smallRun
		}
	}
	ctx, stop := context.WithTimeout(ctx, inputsTimeout)
	defer stop()
	inputs, size := a.ports.Runs.Inputs(ctx, who, r, most)
	if more.Size() > 0 {
		more.Resize(size)
	}
	return inputs
}

func (a *API) readRun(ctx, waiting context.Context, who tenant.Caller, id run.ID) (inbound.ShownRun, error) {
	if err := a.memory.Reading.Acquire(waiting); err != nil {
		return inbound.ShownRun{}, err
	}
	defer a.memory.Reading.Release()
	return a.ports.Runs.Get(ctx, who, id)
}
