package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// storm is a whole round.
func storm(ctx context.Context, o options) (account, error) {
	s, err := setStage(ctx, o)
	if err != nil {
		return account{}, err
	}
	defer s.close()
	s.tell("seed %d: %d processes, %d tenants, %d calls, %d kills, %d freezes, %d restarts and %d stalls of the database, and %d cuts within %s",
		o.seed, o.processes, o.tenants, o.runs, o.kills, o.freezes, o.restarts, o.stalls, o.cuts, o.length)
	blowing, calm := context.WithCancel(ctx)
	defer calm()
	var weather sync.WaitGroup
	weather.Go(func() { s.disturb(blowing) })
	weather.Go(func() { s.schedules.run(blowing, s) })
	weather.Go(func() { s.progressing(blowing) })
	orders := s.load(ctx)
	calm()
	weather.Wait()
	s.tell("every call is acknowledged, and nothing is disturbed any more; waiting for what is left")
	until, err := s.stopSchedules(ctx)
	if err != nil {
		return account{}, err
	}
	s.awaitQuiet(ctx)
	ev, err := s.evidence(ctx, orders, until)
	if err != nil {
		return account{}, err
	}
	ev.audit(s.found)
	return s.account(ev), ctx.Err()
}

// kind is a way to disturb.
type kind string

// The kinds.
const (
	killing    kind = "kill"
	freezing   kind = "freeze"
	restarting kind = "restart"
	cutting    kind = "cut"
	stalling   kind = "stall"
)

// disturbance is one thing that is to happen.
type disturbance struct {
	at     time.Duration // from the beginning
	kind   kind
	target int           // which process
	length time.Duration // of what lasts
	how    pgtest.Stopping
}

// The lease of a run is 6 s (application/runs, WorkerOptions): a frozen process has
// lost its leases when it wakes.
const (
	shortestFreeze = 7 * time.Second
	longestFreeze  = 10 * time.Second
	longestStall   = 8 * time.Second // longer than a lease, too
)

// forecast draws what is to happen: the same for the same seed. Each kind is spread
// over the round.
func forecast(o options) []disturbance {
	rng := rand.New(rand.NewPCG(o.seed, 1))
	var all []disturbance
	for _, k := range []struct {
		kind  kind
		count int
	}{{killing, o.kills}, {freezing, o.freezes}, {restarting, o.restarts}, {cutting, o.cuts}, {stalling, o.stalls}} {
		for i := range k.count {
			part := (float64(i) + rng.Float64()) / float64(k.count)
			d := disturbance{at: time.Duration(part * float64(o.length)), kind: k.kind, target: rng.IntN(o.processes)}
			switch k.kind {
			case freezing:
				d.length = shortestFreeze + time.Duration(rng.Int64N(int64(longestFreeze-shortestFreeze)))
			case restarting:
				d.length = 100*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond)))
				d.how = pgtest.Stopping(i%2 == 0)
			case stalling:
				d.length = time.Second + time.Duration(rng.Int64N(int64(longestStall-time.Second)))
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b disturbance) int { return cmp.Compare(a.at, b.at) })
	return all
}

// disturbances keeps books of what happened.
type disturbances struct {
	mu         sync.Mutex
	kills      int
	freezes    int
	restarts   int
	cuts       int
	stalls     int
	severed    int             // connections that were cut
	takeovers  []time.Duration // of each run of a killed process, while the database was there
	hindered   []time.Duration // of those meanwhile the database was away for a while
	recoveries []time.Duration // of each process, after the database was back
	frozen     map[string][]span
}

// frozenDuring names the processes that were frozen at some time between the two.
func (b *disturbances) frozenDuring(from, to time.Time) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, spans := range b.frozen {
		if slices.ContainsFunc(spans, func(s span) bool { return s.from.Before(to) && s.to.After(from) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *disturbances) note(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// disturb does what was forecast until ctx ends, and then waits until everything is as
// it was.
func (s *stage) disturb(ctx context.Context) {
	var lasting sync.WaitGroup
	began := time.Now()
	for _, d := range forecast(s.options) {
		if wait := d.at - time.Since(began); wait > 0 && !pause(ctx, wait) || ctx.Err() != nil {
			break
		}
		g := s.gateways[d.target]
		switch d.kind {
		case killing:
			s.kill(ctx, g, &lasting)
		case freezing:
			if thaw, ok := g.freeze(); ok {
				from := time.Now()
				s.books.note(func() {
					s.books.freezes++
					s.books.frozen[g.name] = append(s.books.frozen[g.name], span{from, from.Add(d.length)})
				})
				lasting.Go(func() {
					pause(context.WithoutCancel(ctx), d.length)
					thaw()
				})
			}
		case restarting:
			s.restart(ctx, d, &lasting)
		case stalling:
			lasting.Go(func() {
				if s.database.stall(context.WithoutCancel(ctx), d.length) == nil {
					s.books.note(func() { s.books.stalls++ })
				}
			})
		case cutting:
			if n, err := s.database.cut(ctx); err == nil {
				s.books.note(func() { s.books.cuts++; s.books.severed += n })
			}
		}
	}
	lasting.Wait()
}

// kill ends a process, which is started again at once, and watches its runs.
func (s *stage) kill(ctx context.Context, g *gateway, lasting *sync.WaitGroup) {
	pid, at := g.kill(), time.Now()
	s.books.note(func() { s.books.kills++ })
	lasting.Go(func() { s.watch(context.WithoutCancel(ctx), g.name, pid, at) })
}

// restart restarts the database and sees when each process serves again.
func (s *stage) restart(ctx context.Context, d disturbance, lasting *sync.WaitGroup) {
	if err := s.database.restart(context.WithoutCancel(ctx), d.how, d.length); err != nil {
		s.found.add(comesBack, "the database did not come back: %v", err)
		return
	}
	s.books.note(func() { s.books.restarts++ })
	for _, g := range s.gateways {
		pid, _ := g.process()
		if g.isFrozen() {
			continue
		}
		lasting.Go(func() { s.recovery(context.WithoutCancel(ctx), g, pid) })
	}
}

// The time in which a gateway has to serve again (goals, "Loses nothing").
const recoverWithin = 2 * time.Second

// recovery measures how long a process takes until it serves again. One that was killed
// or frozen meanwhile is not looked at.
func (s *stage) recovery(ctx context.Context, g *gateway, pid int) {
	began := time.Now()
	for {
		asked, cancel := context.WithTimeout(ctx, time.Second)
		status, _, _, err := s.clients.send(asked, g, request{key: s.lodgers[0].key, method: http.MethodGet, path: "/workflows?limit=1"}, nil)
		cancel()
		took := time.Since(began)
		if now, _ := g.process(); now != pid || g.isFrozen() {
			return
		}
		if err == nil && status == http.StatusOK {
			s.books.note(func() { s.books.recoveries = append(s.books.recoveries, took) })
			s.found.check(took-s.database.awayFor(began, began.Add(took)) <= recoverWithin, comesBack,
				"%s served again %s after its database was back, not within %s", g.name, took.Round(time.Millisecond), recoverWithin)
			return
		}
		if took > time.Minute {
			s.found.add(comesBack, "%s does not serve a minute after its database was back: %d, %v", g.name, status, err)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// progressing shows how far the round is, now and then.
func (s *stage) progressing(ctx context.Context) {
	for pause(ctx, 15*time.Second) {
		s.books.mu.Lock()
		line := fmt.Sprintf("%d kills, %d freezes, %d restarts, %d stalls, %d cuts", s.books.kills, s.books.freezes, s.books.restarts, s.books.stalls, s.books.cuts)
		s.books.mu.Unlock()
		s.tell("%d calls acknowledged, %s, %d requests unanswered, %d put off",
			s.accepted.Load(), line, s.clients.unanswered.Load(), s.clients.refused.Load())
	}
}
