package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// oneRun has one run.
type oneRun struct {
	inbound.Runs
	run *run.Run
}

// Inputs shows none.
func (oneRun) Inputs(context.Context, tenant.Caller, *run.Run, int) (map[workflow.NodeID]run.ShownInput, int) {
	return nil, 0
}

// Get returns it, whatever is asked for.
func (o oneRun) Get(context.Context, tenant.Caller, run.ID) (inbound.ShownRun, error) {
	return inbound.ShownRun{Run: o.run}, nil
}

// ranRun is a completed run with as many nodes, each of which gave an output of as many
// bytes.
func ranRun(nodes, size int) *run.Run {
	at := noon
	s := run.State{
		Origin: run.Origin{ID: streamedRun, Tenant: "tenant_a", Workflow: "wf_a", Version: "wfv_a", Entity: "order-1", Cause: run.CauseManual,
			Payload: json.RawMessage(`{"amount":1200}`), CreatedAt: at},
		Status: run.StatusCompleted, Seq: 2, UpdatedAt: at, StartedAt: &at, FinishedAt: &at,
	}
	output := json.RawMessage(`{"text":"` + strings.Repeat("x", max(size-11, 0)) + `"}`)
	for i := range nodes {
		id := workflow.NodeID(fmt.Sprintf("node_%d", i))
		s.Nodes = append(s.Nodes, run.NodeState{ID: id, Status: run.NodeCompleted, Attempts: 1, Output: output, StartedAt: &at, FinishedAt: &at})
		s.Executed = append(s.Executed, id)
	}
	return run.Restore(s)
}

// BenchmarkGetRun measures what a reader of a run costs next to the database: the request
// itself, and how many bytes are allocated for it.
func BenchmarkGetRun(b *testing.B) {
	for name, r := range map[string]*run.Run{"one node": ranRun(1, 100), "ten nodes": ranRun(10, 200), "hundred nodes": ranRun(100, 500), "15 MB": ranRun(15, 1_000_000)} {
		b.Run(name, func(b *testing.B) {
			api, err := httpapi.New(httpapi.Ports{Admission: &fakeAdmission{}, Runs: oneRun{run: r}}, httpapi.Budgeted(httpapi.Options{
				Log: zerolog.Nop(), MaxBody: 1 << 20, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" },
			}))
			if err != nil {
				b.Fatal(err)
			}
			asked := httptest.NewRequest(http.MethodGet, runsPath+"/"+string(streamedRun), nil)
			b.ReportAllocs()
			for b.Loop() {
				api.ServeHTTP(discarded{make(http.Header, 8)}, asked)
			}
		})
	}
}
