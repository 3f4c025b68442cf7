package worker

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// WorkerOptions tune a worker. Members that are zero stand for the defaults.
type Options struct {
	Name        string        // who works, for people
	Concurrency int           // how many runs this process works on at the same time; 64
	PerTenant   int           // how many runs of one tenant are worked on at the same time, by all processes; 32
	Memory      int64         // how large the runs that are worked on may be, in bytes as they are stored, for more to be claimed; 256 MiB
	Lease       time.Duration // after which the runs of a process that died are worked on by others; 6 s
	Drain       time.Duration // how long attempts may go on after the worker was told to stop; 10 s
	Plans       int           // how many versions are kept ready to run; as many as execution.NewPlans keeps
	Processors  int           // how many there are; as many goroutines as Go runs at the same time
}

func (o Options) orDefaults() Options {
	orElse := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	orElse(&o.Concurrency, 64)
	orElse(&o.PerTenant, 32)
	orElse(&o.Processors, runtime.GOMAXPROCS(0))
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Lease == 0 {
		o.Lease = 6 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	if o.Name == "" {
		o.Name = "worker"
	}
	return o
}

// Worker implements inbound.Worker. It claims runs that are due, advances each in
// memory as far as that goes, records what it did, makes the attempts that the run asks
// for and tells the run how they ended. Every time that a run is told is by the clock of
// the database.
type Worker struct {
	work      outbound.UnitOfWork
	nodes     outbound.NodeRunner
	endpoints outbound.NodeEndpoints
	signals   outbound.RunSignals
	random    outbound.Random
	key       run.Key
	plans     *execution.Plans
	computing execution.Computing
	calls     outbound.Budget
	growing   outbound.Budget
	opts      Options
	panics    atomic.Int64
	defects   panicCounts
}

var _ inbound.Worker = (*Worker)(nil)

// NewWorker returns a worker. The key makes resume tokens and has to be the same in all
// processes.
func New(work outbound.UnitOfWork, nodes outbound.NodeRunner, endpoints outbound.NodeEndpoints, compiler outbound.Compiler,
	directory outbound.Directory, signals outbound.RunSignals, random outbound.Random, key run.Key, budgets outbound.Budgets, opts Options) *Worker {
	opts = opts.orDefaults()
	return &Worker{
		work: work, nodes: nodes, endpoints: endpoints, signals: signals, random: random, key: key, opts: opts,
		plans:     execution.NewPlans(work, directory, compiler, budgets, opts.Plans),
		computing: execution.NewComputing(budgets), calls: budgets.Calls, growing: budgets.Growing, defects: panicCounts{times: make(map[run.ID]int)},
	}
}

// Panics returns how many panics were contained since the start.
func (w *Worker) Panics() int64 { return w.panics.Load() }

const (
	// storeTimeout is how long a unit of work may take that no lease depends on.
	storeTimeout = 15 * time.Second

	// minRenewTimeout is how long renewing leases may take at least before it is tried anew.
	minRenewTimeout = 2 * time.Second

	// flushTimeout is how long recording may take after the last attempt was interrupted.
	flushTimeout = 3 * time.Second
)

// Run works until ctx ends. Then it claims nothing more, lets attempts end for as long
// as the options say, and gives its runs back.
func (w *Worker) Run(ctx context.Context, failed func(error)) {
	s, end := newSession(ctx, w, failed)
	defer end()
	defer s.boundStop()()
	var listening, keeping sync.WaitGroup
	listening.Go(s.listen)
	closing := make(chan struct{})
	keeping.Go(func() { s.restartOnPanic("keep leases", func() { s.renewLeasesUntil(closing) }) })

	s.restartOnPanic("claim runs", s.claimRuns)
	s.running.Wait()
	close(closing)
	keeping.Wait()
	listening.Wait()
}

// boundStop interrupts what goes on too long after the worker was told to stop, whatever
// it is waiting for then, until it is called off.
func (s *session) boundStop() (callOff func()) {
	var mu sync.Mutex
	var timers []*time.Timer
	bound := context.AfterFunc(s.stopping, func() {
		mu.Lock()
		defer mu.Unlock()
		timers = append(timers,
			time.AfterFunc(min(s.worker.opts.Drain, minRenewTimeout), s.endClaims),
			time.AfterFunc(s.worker.opts.Drain, func() { s.interrupt(errStopping) }),
			time.AfterFunc(s.worker.opts.Drain+flushTimeout, s.abandonUnits))
	})
	return func() {
		bound()
		mu.Lock()
		defer mu.Unlock()
		for _, timer := range timers {
			timer.Stop()
		}
	}
}

// Why attempts are interrupted.
var (
	errStopping  = errors.New("the worker stops")
	errLeaseLost = errors.New("another worker has taken the run over, or it has ended")
	errNotWanted = errors.New("the run does not wait for the attempt any more")
)

// session is one Run of a worker.
type session struct {
	worker   *Worker
	began    time.Time
	report   func(error)
	stopping context.Context //nolint:containedctx // ends when no new work is to be begun
	effects  context.Context //nolint:containedctx // ends when attempts are to end
	units    context.Context //nolint:containedctx // ends when nothing can be recorded any more
	records  *recorder
	running  sync.WaitGroup // runs that are held, and their attempts

	interrupt    context.CancelCauseFunc
	abandonUnits context.CancelFunc
	claims       context.Context //nolint:containedctx // ends when no claim is waited for any more
	endClaims    context.CancelFunc

	wakeup     chan struct{} // holds one when runs may be free that were not
	placeFreed chan struct{} // holds one when a place was given up
	renewNow   chan struct{} // holds one when leases are to be looked after at once
	clock      databaseClock

	contention    *contention
	isolationTurn chan struct{} // holds one while a run computes that is tried alone
	backlogTurns  chan struct{} // holds one for each run of a crowd that takes the processor while there are others

	mu           sync.Mutex
	jobs         map[run.ID]*job
	jobsOf       map[tenant.ID]int   // how many of them are whose
	size         int64               // of all of them
	needsRecheck map[run.ID]*job     // of which there was word
	toReturn     []outbound.RunLease // to be given back
	renewed      chan struct{}       // closed and replaced when leases were renewed
}

func newSession(ctx context.Context, w *Worker, failed func(error)) (s *session, end func()) {
	var reporting sync.Mutex
	s = &session{
		worker: w, began: time.Now(), stopping: ctx,
		report: func(err error) {
			reporting.Lock()
			defer reporting.Unlock()
			if inbound.IsPanic(err) {
				w.panics.Add(1)
			}
			failed(err)
		},
		wakeup: make(chan struct{}, 1), placeFreed: make(chan struct{}, 1), renewNow: make(chan struct{}, 1),
		jobs: make(map[run.ID]*job), jobsOf: make(map[tenant.ID]int), isolationTurn: make(chan struct{}, 1), backlogTurns: make(chan struct{}, max(1, w.opts.Processors/2)), needsRecheck: make(map[run.ID]*job), renewed: make(chan struct{}),
	}
	s.contention = newContention(s.began)
	lasting := context.WithoutCancel(ctx)
	s.effects, s.interrupt = context.WithCancelCause(lasting)
	s.units, s.abandonUnits = context.WithCancel(lasting)
	s.claims, s.endClaims = context.WithCancel(s.units)
	s.records = newRecorder(s.units, w.work, w.signals, w.random, s.contention.yield)
	return s, func() {
		s.interrupt(errStopping)
		s.abandonUnits()
	}
}

// listen hears word of runs until the worker is to stop.
func (s *session) listen() {
	for s.stopping.Err() == nil {
		err := s.recoverPanic("follow the signals of runs", func() error { return s.worker.signals.Follow(s.stopping, s.onSignal) })
		if err != nil && s.stopping.Err() == nil {
			s.report(err)
			sleep(s.stopping, time.Second)
		}
	}
}

// onSignal takes word of runs: those that are held are looked at, for the others there may
// be something to claim. Without runs both may be.
func (s *session) onSignal(changed []run.ID) {
	claim, look := len(changed) == 0, false
	s.mu.Lock()
	if claim {
		for id, j := range s.jobs {
			s.needsRecheck[id], look = j, true
		}
	}
	for _, id := range changed {
		if j, mine := s.jobs[id]; mine {
			s.needsRecheck[id], look = j, true
		} else {
			claim = true
		}
	}
	s.mu.Unlock()
	if claim {
		notify(s.wakeup)
	}
	if look {
		notify(s.renewNow)
	}
}

// notify leaves one word in a channel that holds one.
func notify(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// sleep waits, and says whether ctx goes on.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
