package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/deploy/rolling"
)

// rounds is how often every gateway is restarted. make rolling asks for more.
var rounds = flag.Int("rolling-rounds", 1, "how often TestARollingRestartLosesNoRequest restarts each gateway")

// The time that a gateway serves on while it drains is many times the balancer's
// interval, as it has to be in production.
const (
	probeEvery = 20 * time.Millisecond
	drainFor   = 500 * time.Millisecond
)

func TestARollingRestartLosesNoRequest(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	b.ok("migrate", "up")
	restartUnderLoad(t, b, b)
}

// The gateways of the last release go on while those of this version take their place, on the
// schema of this version.
func TestARollingUpgradeLosesNoRequest(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	released := b
	released.program = lastRelease(t)
	run := released.launch(nil, "migrate", "up")
	if code := run.await(t); code != exitDone {
		t.Fatalf("migrate up of the last release ended with %d: %s", code, run.stderr)
	}
	b.ok("migrate", "up")
	restartUnderLoad(t, released, b)
}

// restartUnderLoad replaces each gateway of one binary by one of another, in rounds.
func restartUnderLoad(t *testing.T, from, to binary) {
	t.Helper()
	made := to.json("tenant", "create", "--name", "Acme", "--example")
	to.ok("tenant", "update", fmt.Sprint(made["tenantId"]), "--secret-per-minute", "1000000", "--secret-concurrent", "100000")
	to.environ = append(to.environ, "SLUICE_DRAIN_DELAY="+drainFor.String(), "SLUICE_LOG_LEVEL=info")
	from.environ = to.environ

	gateways := []*process{from.spawn("serve"), from.spawn("serve")}
	watching, unwatch := context.WithCancel(t.Context())
	balancer, err := rolling.NewBalancer(watching, probeEvery, gateways[0].url, gateways[1].url)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(balancer)
	defer func() { front.Close(); unwatch(); balancer.Wait() }()
	awaitReady(t, balancer, len(gateways))

	gateways[0].withoutExample(t, made)
	load := rolling.Load{
		URL: front.URL, Key: fmt.Sprint(made["secretKey"]), WorkflowVersionID: fmt.Sprint(made["workflowVersionId"]),
		Writers: 8, Readers: 4,
	}
	working, stop := context.WithCancel(t.Context())
	ledger := make(chan *rolling.Ledger, 1)
	go func() { ledger <- load.Run(working) }()
	for round := range *rounds {
		for i, old := range gateways {
			restarted := restart(t, to, old, balancer)
			gateways[i] = restarted
			t.Logf("round %d of %d: gateway %d restarted at %s", round+1, *rounds, i+1, restarted.address())
		}
	}
	stop()
	books := <-ledger
	there, err := load.Triggers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account := books.Balance(there)
	t.Logf("%d restarts: %s", *rounds*len(gateways), account)
	if err := account.Err(); err != nil {
		t.Error(err)
	}
	if account.Acknowledged == 0 || account.Sent == account.Acknowledged {
		t.Errorf("there was hardly any load: %s", account)
	}
}

// restart replaces one gateway, as an orchestrator does: it tells the old one to stop,
// waits until it has, starts the new one in its place and waits until the balancer
// uses it.
func restart(t *testing.T, b binary, old *process, balancer *rolling.Balancer) *process {
	t.Helper()
	if code := old.exit(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("the old gateway ended with %d: %s", code, old.stderr)
	}
	if n := balancer.Ready(); n != 1 {
		t.Errorf("the balancer uses %d gateways while one is gone", n)
	}
	b.environ = append(slices.Clone(b.environ), "SLUICE_LISTEN="+old.address())
	restarted := b.spawn("serve")
	awaitReady(t, balancer, 2)
	return restarted
}

func awaitReady(t *testing.T, balancer *rolling.Balancer, n int) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); balancer.Ready() != n; time.Sleep(probeEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("the balancer uses %d gateways, not %d", balancer.Ready(), n)
		}
	}
}

func TestASignalMakesTheGatewayNotReadyBeforeItRefusesConnections(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_DRAIN_DELAY=1s")
	p := b.spawn("serve")
	if status, body := p.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
		t.Fatalf("not ready: %s", body)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.stderr.await(`(not ready any more)`); !ok {
		t.Fatalf("it did not notice the signal: %s", p.stderr)
	}
	if status, body := p.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("it is ready: %d %s", status, body)
	}
	if status, body := p.request(t, http.MethodGet, "/healthz", "", ""); status != http.StatusOK {
		t.Errorf("it is not alive, so it would be killed: %d %s", status, body)
	}
	if code := p.await(t); code != exitDone {
		t.Errorf("it ended with %d: %s", code, p.stderr)
	}
}
