package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"net/http"
	"syscall"
	"testing"
	"time"
)

var (
	manyDeliveries = flag.Int("deliveries", 500, "how many deliveries the test of a killed gateway makes")
	deliveryTime   = flag.Duration("deliveries-within", 3*time.Minute, "how long they may take after the gateway was killed")
)

// atRandom fails 30 of 100 messages in their first attempt, by chance: their identifiers
// are random. The second attempt is made 5 seconds later, and a third one only after 5
// minutes, which is why none fails twice. A few time out, which takes 15 seconds.
func atRandom(id string, n int) fault {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	switch chance := h.Sum32() % 100; {
	case n > 1 || chance >= 30:
		return none
	case chance < 2:
		return timedOut
	case chance < 14:
		return hungUp
	default:
		return refused
	}
}

// The gateway is killed twice while it sends to receivers that fail at random. What it
// was sending is sent again once its leases have ended, which is why this test takes
// half a minute at least.
func TestEveryDeliveryArrivesAlthoughTheGatewayIsKilledAndReceiversFail(t *testing.T) {
	if testing.Short() {
		t.Skip("most of it is to wait for leases to end; what goes on at the same time, the tests of package webhooks try")
	}
	t.Parallel()
	databases(t, func(t *testing.T, b binary) {
		const endpoints = 50
		many := *manyDeliveries
		events := many / endpoints
		r := newReceiver(t)
		r.fails = atRandom
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
		serving := b.spawn("serve")
		p := newPublisher(t, b, serving.server)
		b.ok("tenant", "update", p.tenant, "--secret-per-minute", "1000000")
		ids := make([]string, endpoints)
		for i := range ids {
			ids[i] = p.endpoint(serving.server, r, fmt.Sprint("/", i))
		}
		count := func() int {
			taken, _, _ := r.ledger()
			return taken
		}
		began, killed := time.Now(), 0
		for event := range events {
			p.publish(serving.server)
			if event == events/3 || event == events-1 {
				r.await(t, testTimeout, "some of them", func() bool { return count() >= event*endpoints/3 })
				serving.exit(t, syscall.SIGKILL)
				if killed++; count() == (event+1)*endpoints {
					t.Error("all were delivered before the process was killed")
				}
				serving = b.spawn("serve")
			}
		}
		r.await(t, *deliveryTime, "all of them", func() bool { return count() == events*endpoints })
		p.nonePending(serving.server, ids, events)
		taken, attempts, repeats := r.ledger()
		t.Logf("%d events, %d deliveries, %d taken, %d attempts, %d repeats, %d kills, in %s",
			events, events*endpoints, taken, attempts, repeats, killed, time.Since(began).Round(time.Second))
		if taken != events*endpoints || attempts < taken*6/5 {
			t.Errorf("%d of %d deliveries were taken in %d attempts", taken, events*endpoints, attempts)
		}
		if code := serving.exit(t, syscall.SIGTERM); code != exitDone {
			t.Errorf("stopped with %d: %s", code, serving.stderr)
		}
	})
}

// nonePending waits until the gateway has recorded that every event was delivered to
// every endpoint.
func (p *publisher) nonePending(s server, endpoints []string, events int) {
	p.Helper()
	late, tick := time.After(testTimeout), time.Tick(100*time.Millisecond)
	for _, id := range endpoints {
		for {
			found := p.call(s, http.MethodGet, "/webhook-endpoints/"+id+"/deliveries?limit=1&status=delivered", "")
			if found["total"] == float64(events) {
				break
			}
			select {
			case <-tick:
			case <-late:
				p.Fatalf("%v of %d deliveries to %s are recorded as delivered", found["total"], events, id)
			}
		}
		for _, status := range []string{"pending", "failed"} {
			if found := p.call(s, http.MethodGet, "/webhook-endpoints/"+id+"/deliveries?limit=1&status="+status, ""); found["total"] != 0.0 {
				p.Errorf("%v deliveries to %s are %s", found["total"], id, status)
			}
		}
	}
}
