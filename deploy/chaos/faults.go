package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/testserver"
)

// runRound runs a whole round.
func runRound(ctx context.Context, o options) (ledger, error) {
	e, err := newEnv(ctx, o)
	if err != nil {
		return ledger{}, err
	}
	defer e.close()
	e.logf("seed %d: engine %s, %d processes, %d tenants, %d calls, %d kills, %d freezes, %d restarts and %d stalls of the database, and %d cuts within %s",
		o.seed, o.engine, o.processes, o.tenantCount, o.runs, o.kills, o.freezes, o.restarts, o.stalls, o.cuts, o.length)
	injecting, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { e.injectFaults(injecting) })
	background.Go(func() { e.schedules.run(injecting, e) })
	background.Go(func() { e.publisher.run(injecting, e) })
	background.Go(func() { e.logProgress(injecting) })
	orders := e.load(ctx)
	stop()
	background.Wait()
	e.logf("every call is acknowledged, and nothing is disturbed any more; waiting for what is left")
	until, err := e.stopSchedules(ctx)
	if err != nil {
		return ledger{}, err
	}
	e.awaitQuiet(ctx)
	if err := e.auditAttached(ctx); err != nil {
		return ledger{}, err
	}
	ev, err := e.evidence(ctx, orders, until)
	if err != nil {
		return ledger{}, err
	}
	ev.audit(e.found)
	e.verify(ctx)
	taken := len(e.faults.takeovers) + len(e.faults.hindered)
	e.found.check(taken > 0 || e.faults.kills < 10, takenOver, "%d processes were killed, and none of them was seen to have a run", e.faults.kills)
	return e.newLedger(ev), ctx.Err()
}

// faultKind is a way to disturb a round.
type faultKind int

const (
	killGateway faultKind = iota
	freezeGateway
	restartDatabase
	cutConnections
	stallDatabase
	killEngine
	leaveEngineAway
)

// fault is one disturbance that is planned.
type fault struct {
	at     time.Duration // from the beginning
	kind   faultKind
	target int           // which process
	length time.Duration // of what lasts
	how    pgtest.Stopping
}

// The lease of a run is 6 s (application/worker, Options): a frozen process has
// lost its leases when it wakes.
const (
	shortestFreeze = 7 * time.Second
	longestFreeze  = 10 * time.Second
	longestStall   = 8 * time.Second // longer than a lease, too
	longestWait    = time.Minute     // for a process that does not come back
)

// planFaults draws what is to happen: the same for the same seed. Each kind is spread
// over the round.
func planFaults(o options) []fault {
	rng := rand.New(rand.NewPCG(o.seed, 1))
	var all []fault
	for _, k := range []struct {
		kind  faultKind
		count int
	}{{killGateway, o.kills}, {freezeGateway, o.freezes}, {restartDatabase, o.restarts}, {cutConnections, o.cuts}, {stallDatabase, o.stalls}, {killEngine, o.engineKills}} {
		for i := range k.count {
			part := (float64(i) + rng.Float64()) / float64(k.count)
			f := fault{at: time.Duration(part * float64(o.length)), kind: k.kind, target: rng.IntN(o.processes)}
			switch k.kind {
			case freezeGateway:
				f.length = shortestFreeze + time.Duration(rng.Int64N(int64(longestFreeze-shortestFreeze)))
			case killEngine:
				f.length = 100*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond)))
			case restartDatabase:
				f.length = 100*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond)))
				f.how = pgtest.Stopping(i%2 == 0)
			case stallDatabase:
				f.length = time.Second + time.Duration(rng.Int64N(int64(longestStall-time.Second)))
			}
			all = append(all, f)
		}
	}
	if o.engineAbsence > 0 {
		all = append(all, fault{at: o.length / 3, kind: leaveEngineAway, length: o.engineAbsence})
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return all
}

// faultLog counts the faults and measures what followed.
type faultLog struct {
	mu             sync.Mutex
	kills          int
	freezes        int
	restarts       int
	cuts           int
	stalls         int
	connectionsCut int
	engineKills    int             // those for long among them
	absences       int             // of the engine, for long
	acceptedAway   int64           // calls, meanwhile
	takeovers      []time.Duration // of each run of a killed process, without an outage of the database
	hindered       []time.Duration // of those with an outage
	recoveries     []time.Duration // of each process, after the database was back
	frozen         map[string][]span
	disturbed      []span // when processes ended or froze, and connections were cut
}

// frozenDuring names the processes that were frozen at some time between the two.
func (l *faultLog) frozenDuring(from, to time.Time) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, spans := range l.frozen {
		if slices.ContainsFunc(spans, func(s span) bool { return s.from.Before(to) && s.to.After(from) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l *faultLog) record(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// injectFaults injects the planned faults until ctx ends, and then waits until the last
// one is over.
func (e *env) injectFaults(ctx context.Context) {
	var ongoing sync.WaitGroup
	began := time.Now()
	for _, f := range planFaults(e.options) {
		if wait := f.at - time.Since(began); wait > 0 && !harness.Sleep(ctx, wait) || ctx.Err() != nil {
			break
		}
		g := e.gateways[f.target]
		switch f.kind {
		case killGateway:
			e.kill(ctx, g, &ongoing)
		case freezeGateway:
			if thaw, ok := g.freeze(); ok {
				from := time.Now()
				e.faults.record(func() {
					e.faults.freezes++
					e.faults.frozen[g.Name] = append(e.faults.frozen[g.Name], span{from, from.Add(f.length)})
				})
				ongoing.Go(func() {
					harness.Sleep(context.WithoutCancel(ctx), f.length)
					thaw()
					e.faults.disturb(from)
				})
			}
		case restartDatabase:
			e.restart(ctx, f, &ongoing)
		case stallDatabase:
			ongoing.Go(func() {
				if e.database.stall(context.WithoutCancel(ctx), f.length) == nil {
					e.faults.record(func() { e.faults.stalls++ })
				}
			})
		case killEngine:
			ongoing.Go(func() { e.killEngine(context.WithoutCancel(ctx), f.length) })
		case leaveEngineAway:
			ongoing.Go(func() { e.leaveEngineAway(context.WithoutCancel(ctx), f.length) })
		case cutConnections:
			from := time.Now()
			n, err := e.database.cut(ctx)
			if e.faults.disturb(from); err == nil {
				e.faults.record(func() { e.faults.cuts++; e.faults.connectionsCut += n })
			}
		}
	}
	ongoing.Wait()
}

// kill ends a process, which is started again at once, and watches its runs.
func (e *env) kill(ctx context.Context, g *gateway, ongoing *sync.WaitGroup) {
	from := time.Now()
	p, at := g.kill(), time.Now()
	e.faults.disturb(from)
	e.faults.record(func() { e.faults.kills++ })
	ongoing.Go(func() { e.watch(context.WithoutCancel(ctx), g.Name, p.PID(), at) })
}

// restart restarts the database and sees when each process serves again that served before.
func (e *env) restart(ctx context.Context, f fault, ongoing *sync.WaitGroup) {
	serving := make(map[*gateway]*testserver.Process)
	for _, g := range e.gateways {
		p := g.Process()
		if got, err := e.listWorkflows(ctx, g, time.Second); err == nil && got.Status == http.StatusOK {
			serving[g] = p
		}
	}
	if err := e.database.restart(context.WithoutCancel(ctx), f.how, f.length); err != nil {
		e.found.add(comesBack, "the database did not come back: %v", err)
		return
	}
	e.faults.record(func() { e.faults.restarts++ })
	for g, p := range serving {
		if g.isFrozen() {
			continue
		}
		ongoing.Go(func() { e.recovery(context.WithoutCancel(ctx), g, p) })
	}
}

// listWorkflows asks a process for something that it has to read from the database.
func (e *env) listWorkflows(ctx context.Context, g *gateway, most time.Duration) (harness.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return e.clients.sendTo(ctx, g, e.tenants[0].key, harness.Request{Method: http.MethodGet, Path: "/workflows?limit=1"})
}

// recovery measures how long a process takes until it serves again. One that was killed
// or frozen meanwhile is not looked at. A request waits for its answer as long as a client would: one that gives up
// early and asks again waits behind everybody else.
func (e *env) recovery(ctx context.Context, g *gateway, p *testserver.Process) {
	began := time.Now()
	var refusals []string
	for {
		got, err := e.listWorkflows(ctx, g, longestWait)
		took := time.Since(began)
		if g.Process() != p || g.isFrozen() {
			return
		}
		if err == nil && got.Status == http.StatusOK {
			e.faults.record(func() { e.faults.recoveries = append(e.faults.recoveries, took) })
			e.found.check(took-awayBetween(began, began.Add(took), &e.database.outages) <= e.options.recovery, comesBack,
				"%s served again %s after its database was back, not within %s; until then: %s", g.Name, took.Round(time.Millisecond), e.options.recovery,
				strings.Join(refusals, ", "))
			return
		}
		refusals = append(refusals, fmt.Sprintf("%d %v at %s", got.Status, err, took.Round(time.Millisecond)))
		if took > longestWait {
			e.found.add(comesBack, "%s does not serve a minute after its database was back: %s", g.Name, strings.Join(refusals, ", "))
			return
		}
		harness.Sleep(ctx, 20*time.Millisecond)
	}
}

// logProgress shows how far the round is, now and then.
func (e *env) logProgress(ctx context.Context) {
	for harness.Sleep(ctx, 15*time.Second) {
		f := e.faults
		f.record(func() {
			e.logf("%d calls acknowledged, %d kills, %d freezes, %d restarts, %d stalls, %d cuts, %d requests unanswered, %d put off",
				e.accepted.Load(), f.kills, f.freezes, f.restarts, f.stalls, f.cuts, e.clients.unanswered.Load(), e.clients.refused.Load())
		})
	}
}
