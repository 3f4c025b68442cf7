package firing

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// holding gives one run, whichever is asked for.
type holding struct {
	outbound.RunRepository
	run *run.Run
}

func (h holding) Get(context.Context, tenant.Scope, run.ID) (*run.Run, error) { return h.run, nil }

// What an event is offered to is bounded by what it holds, so that a few large runs do
// not fill the memory either; but one is always offered it.
func TestAnEventIsOfferedToSoMuchAtOnce(t *testing.T) {
	r := run.Restore(run.State{Origin: run.Origin{ID: "run_1", Payload: json.RawMessage(`"` + string(make([]byte, 1000)) + `"`)}})
	for _, c := range []struct {
		size    int
		before  int
		refused bool
	}{
		{run.MaxOfferedBytes - r.Size(), 1, false},
		{run.MaxOfferedBytes - r.Size() + 1, 1, true},
		{run.MaxOfferedBytes, 0, false},
	} {
		o := &eventDelivery{
			request: &startRequest{service: &Service{}, memoryReserved: true}, st: outbound.Stores{Runs: outbound.RunStores{Runs: holding{run: r}}}, plans: planSet{run.Source{}: nil}, // its version is gone
			size: c.size, offered: c.before, outcomes: make(map[run.ID]bool),
		}
		err := o.deliver(t.Context(), run.Awaiting{ID: r.ID()})
		if errors.Is(err, domain.Conflict) != c.refused || (err != nil) != c.refused {
			t.Errorf("after %d bytes of %d runs: %v", c.size, c.before, err)
		}
	}
}
