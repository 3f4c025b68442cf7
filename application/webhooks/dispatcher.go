package webhooks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// leasePeriod is enough to send a message and to record the attempt even when the store
	// is slow. An attempt that is not recorded by then is made again.
	leasePeriod = event.SendTimeout + recordTimeout

	// maxSends is how many messages a process sends at the same time. One that waits for an
	// answer costs its memory only.
	maxSends = 512

	// maxSendsPerEndpoint keeps an endpoint that is slow to answer from being flooded, and
	// from taking all that its tenant gets.
	maxSendsPerEndpoint = 8

	// pollInterval is how long the loops sleep at most, so that what happens in another
	// process is found soon.
	pollInterval = 1500 * time.Millisecond

	// failurePause is how long they sleep after the store failed, unless they are woken.
	failurePause = time.Second
)

// sendLimits are how many messages a process sends at the same time.
type sendLimits struct {
	total       int
	reserved    int // of the total, for tenants to whom nothing is being sent: their messages go out at once while all others wait for endpoints that hang
	failing     int // to endpoints that fail, all of them together
	perTenant   int
	perEndpoint int
}

func newSendLimits(total, perEndpoint int) sendLimits {
	return sendLimits{total: total, reserved: total / 4, failing: total / 2, perTenant: total / 4, perEndpoint: perEndpoint}
}

// Dispatcher implements inbound.Dispatcher.
type Dispatcher struct {
	work   outbound.UnitOfWork
	sender outbound.Sender
	clock  outbound.Clock
	random outbound.Random

	credentials outbound.Credentials // of connections; nil only where no endpoint has one

	limits     sendLimits
	poll       time.Duration
	newEvents  chan struct{} // holds one signal when events may wait
	deliveries chan struct{} // holds one signal when deliveries may be due

	servedTenant tenant.ID // after which the next fan-out begins; one goroutine uses it

	postponed  postponed
	panics     atomic.Int64
	unreadable atomic.Int64
}

var _ inbound.Dispatcher = (*Dispatcher)(nil)

// NewDispatcher returns a dispatcher that sends through the port.
func NewDispatcher(work outbound.UnitOfWork, sender outbound.Sender, clock outbound.Clock, random outbound.Random) *Dispatcher {
	return &Dispatcher{
		work: work, sender: sender, clock: clock, random: random,
		limits: newSendLimits(maxSends, maxSendsPerEndpoint), poll: pollInterval,
		newEvents: make(chan struct{}, 1), deliveries: make(chan struct{}, 1),
		postponed: postponed{limit: maxPostponed},
	}
}

// WithCredentials has messages bear what the connections of their endpoints give out. It returns
// the dispatcher.
func (d *Dispatcher) WithCredentials(credentials outbound.Credentials) *Dispatcher {
	d.credentials = credentials
	return d
}

// Run brings events to endpoints until ctx ends. While there is nothing to do, it costs
// two reads each pollInterval.
func (d *Dispatcher) Run(ctx context.Context, failed func(error)) {
	var reporting sync.Mutex
	report := func(err error) {
		reporting.Lock()
		defer reporting.Unlock()
		if inbound.IsPanic(err) {
			d.panics.Add(1)
		}
		failed(err)
	}
	records := newRecorder(d.work, d.random, report)
	sends := newSendLoop(d.poll, d.limits, d.deliveries, report, sendSteps{
		next:  d.next,
		claim: d.claim,
		attempt: func(ctx context.Context, due outbound.DueDelivery) (again bool, err error) {
			return d.attempt(ctx, due, records)
		},
	})
	var loops sync.WaitGroup
	loops.Go(func() { d.fanOutLoop(ctx, report) })
	loops.Go(func() { sends.run(ctx) })
	loops.Wait()
}

// Wake makes the loops look at once.
func (d *Dispatcher) Wake() {
	notify(d.newEvents)
	notify(d.deliveries)
}

// Panics returns how many panics were recovered from since the start.
func (d *Dispatcher) Panics() int64 { return d.panics.Load() }

// Unreadable returns how often a delivery was postponed since the start because it cannot
// be read.
func (d *Dispatcher) Unreadable() int64 { return d.unreadable.Load() }

// notify leaves one signal in a channel that holds one.
func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
