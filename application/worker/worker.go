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
	defects   defects
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
		computing: execution.NewComputing(budgets), calls: budgets.Calls, growing: budgets.Growing, defects: defects{times: make(map[run.ID]int)},
	}
}

// Panics returns how many panics were contained since the start.
func (w *Worker) Panics() int64 { return w.panics.Load() }

const (
	// patience is how long a unit of work may take that no lease depends on.
	patience = 15 * time.Second

	// hurry is how long renewing leases may take at least before it is tried anew.
	hurry = 2 * time.Second

	// afterwards is how long recording may take after the last attempt was interrupted.
	afterwards = 3 * time.Second
)

// Run works until ctx ends. Then it claims nothing more, lets attempts end for as long
// as the options say, and gives its runs back.
func (w *Worker) Run(ctx context.Context, failed func(error)) {
	s, end := newShift(ctx, w, failed)
	defer end()
	defer s.boundStop()()
	var listening, keeping sync.WaitGroup
	listening.Go(s.listen)
	for range recorders {
		keeping.Go(func() { s.lasting("record steps", func() { s.records.run(s.records.few, func(time.Duration) {}) }) })
		keeping.Go(func() { s.lasting("record steps", func() { s.records.run(s.records.crowd, s.giveWay) }) })
	}
	closing := make(chan struct{})
	keeping.Go(func() { s.lasting("keep leases", func() { s.keepLeases(closing) }) })

	s.lasting("claim runs", s.claimRuns)
	s.working.Wait()
	s.records.close()
	close(closing)
	keeping.Wait()
	listening.Wait()
}

// boundStop interrupts what goes on too long after the worker was told to stop, whatever
// it is waiting for then, until it is called off.
func (s *shift) boundStop() (callOff func()) {
	var mu sync.Mutex
	var timers []*time.Timer
	bound := context.AfterFunc(s.leaving, func() {
		mu.Lock()
		defer mu.Unlock()
		timers = append(timers,
			time.AfterFunc(min(s.worker.opts.Drain, hurry), s.endClaims),
			time.AfterFunc(s.worker.opts.Drain, func() { s.interrupt(errStopping) }),
			time.AfterFunc(s.worker.opts.Drain+afterwards, s.hangUp))
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

// shift is one Run of a worker.
type shift struct {
	worker  *Worker
	began   time.Time
	report  func(error)
	leaving context.Context //nolint:containedctx // ends when no new work is to be begun
	effects context.Context //nolint:containedctx // ends when attempts are to end
	units   context.Context //nolint:containedctx // ends when nothing can be recorded any more
	records *recorder
	working sync.WaitGroup // runs that are held, and their attempts

	interrupt context.CancelCauseFunc
	hangUp    context.CancelFunc
	claims    context.Context //nolint:containedctx // ends when no claim is waited for any more
	endClaims context.CancelFunc

	word  chan struct{} // holds one when runs may be free that were not
	freed chan struct{} // holds one when a place was given up
	due   chan struct{} // holds one when leases are to be looked after at once
	clock databaseClock

	beside     *beside
	aloneTurn  chan struct{} // holds one while a run computes that is tried alone
	processors chan struct{} // holds one for each run of a crowd that takes the processor while there are others

	mu       sync.Mutex
	held     map[run.ID]*job
	shares   map[tenant.ID]int   // how many of them are whose
	size     int64               // of all of them
	doubted  map[run.ID]*job     // of which there was word
	returned []outbound.RunLease // to be given back
	renewed  chan struct{}       // closed and replaced when leases were renewed
}

func newShift(ctx context.Context, w *Worker, failed func(error)) (s *shift, end func()) {
	var reporting sync.Mutex
	s = &shift{
		worker: w, began: time.Now(), leaving: ctx,
		report: func(err error) {
			reporting.Lock()
			defer reporting.Unlock()
			if inbound.IsPanic(err) {
				w.panics.Add(1)
			}
			failed(err)
		},
		word: make(chan struct{}, 1), freed: make(chan struct{}, 1), due: make(chan struct{}, 1),
		held: make(map[run.ID]*job), shares: make(map[tenant.ID]int), aloneTurn: make(chan struct{}, 1), processors: make(chan struct{}, max(1, w.opts.Processors/2)), doubted: make(map[run.ID]*job), renewed: make(chan struct{}),
	}
	s.beside = newBeside(s.began)
	lasting := context.WithoutCancel(ctx)
	s.effects, s.interrupt = context.WithCancelCause(lasting)
	s.units, s.hangUp = context.WithCancel(lasting)
	s.claims, s.endClaims = context.WithCancel(s.units)
	s.records = newRecorder(w.work, w.signals, w.random, s.units, w.opts.Concurrency)
	return s, func() {
		s.interrupt(errStopping)
		s.hangUp()
	}
}

// listen hears word of runs until the worker is to stop.
func (s *shift) listen() {
	for s.leaving.Err() == nil {
		err := s.contained("follow the signals of runs", func() error { return s.worker.signals.Follow(s.leaving, s.heard) })
		if err != nil && s.leaving.Err() == nil {
			s.report(err)
			rest(s.leaving, time.Second)
		}
	}
}

// heard takes word of runs: those that are held are looked at, for the others there may
// be something to claim. Without runs both may be.
func (s *shift) heard(changed []run.ID) {
	claim, look := len(changed) == 0, false
	s.mu.Lock()
	if claim {
		for id, j := range s.held {
			s.doubted[id], look = j, true
		}
	}
	for _, id := range changed {
		if j, mine := s.held[id]; mine {
			s.doubted[id], look = j, true
		} else {
			claim = true
		}
	}
	s.mu.Unlock()
	if claim {
		ring(s.word)
	}
	if look {
		ring(s.due)
	}
}

// ring leaves one word in a channel that holds one.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// rest waits, and says whether ctx goes on.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
