package runs

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func (h holding) Get(context.Context, tenant.ID, run.ID) (*run.Run, error) { return h.run, nil }

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
		o := &offering{
			shot: &shot{Firing: &Firing{}, hasMemory: true}, st: outbound.Stores{Runs: outbound.RunStores{Runs: holding{run: r}}}, known: planSet{"": nil}, // its version is gone
			size: c.size, tried: c.before, offered: make(map[run.ID]bool),
		}
		err := o.offer(t.Context(), run.Awaiting{ID: r.ID()})
		if errors.Is(err, domain.Conflict) != c.refused || (err != nil) != c.refused {
			t.Errorf("after %d bytes of %d runs: %v", c.size, c.before, err)
		}
	}
}

// What turns out to wait for something else, or for nothing, counts for nothing, and is
// told of if it waits or the call names it.
func TestWhatAnEventIsNotMeantForDoesNotCount(t *testing.T) {
	for claim, c := range map[string]struct {
		status run.Status
		named  []run.ID
		want   []run.Skip
	}{
		"it pauses":              {run.StatusPaused, nil, []run.Skip{{Run: "run_1", Reason: run.SkipNotPaused}}},
		"it works":               {run.StatusRunning, nil, nil},
		"it works, and is named": {run.StatusRunning, []run.ID{"run_1"}, []run.Skip{{Run: "run_1", Reason: run.SkipNotPaused}}},
	} {
		r := run.Restore(run.State{Origin: run.Origin{ID: "run_1", Payload: json.RawMessage(`1`)}, Status: c.status})
		o := &offering{
			shot: &shot{Firing: &Firing{}, hasMemory: true}, st: outbound.Stores{Runs: outbound.RunStores{Runs: holding{run: r}}}, call: run.IngestCall{Options: run.ResumeOptions{Runs: c.named}},
			size: run.MaxOfferedBytes, tried: run.MaxOffered, offered: make(map[run.ID]bool),
		}
		if err := o.offer(t.Context(), run.Awaiting{ID: r.ID(), Unread: true}); err != nil {
			t.Errorf("%s: %v", claim, err)
		}
		if diff := cmp.Diff(c.want, o.refused); diff != "" || o.size != run.MaxOfferedBytes || o.tried != run.MaxOffered || len(o.steps) != 1 {
			t.Errorf("%s: %d bytes of %d, %d to record, told of are (-want +got)\n%s", claim, o.size, o.tried, len(o.steps), diff)
		}
	}
}
