package httpapi_test

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/application/processes"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// timedProcesses are seen by the clock of the test, where the database's would differ each time.
type timedProcesses struct {
	inbound.Processes
	clock *portstest.ManualClock
}

// Alive lists the processes.
func (p timedProcesses) Alive(ctx context.Context) ([]process.Seen, process.Level, error) {
	live, required, err := p.Processes.Alive(ctx)
	for i := range live {
		live[i].StartedAt, live[i].SeenAt = p.clock.Now(), p.clock.Now()
	}
	return live, required, err
}

// beat makes a process known.
func (g *gateway) beat() {
	g.Helper()
	p := process.Process{ID: "gateway-1/7/start_01", Version: "0.1.0", Level: process.Latest, Role: "all"}
	if err := processes.New(g.store, g.store, g.clock).Heartbeat(g.Context(), p); err != nil {
		g.Fatal(err)
	}
}

func TestWithoutProcessesTheListIsEmpty(t *testing.T) {
	g := newGateway(t)
	if got := g.operate("GET", "/v1/operator/processes", ""); got.status != 200 || got.body != `{"items":[],"requiredLevel":0}` {
		t.Errorf("got %d: %s", got.status, got.body)
	}
}
