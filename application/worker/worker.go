package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Options tune a worker. Members that are zero stand for the defaults.
type Options struct {
	Name        string        // who works, for people
	Concurrency int           // how many runs this process works on at the same time; 64
	PerTenant   int           // how many runs of one tenant are worked on at the same time, by all processes; 32
	Memory      int64         // how large the runs that are worked on may be, in bytes as they are stored, for more to be claimed; 256 MiB
	Lease       time.Duration // after which the runs of a process that died are worked on by others; 6 s
	Drain       time.Duration // how long attempts may go on after the worker began to stop; 10 s
	Hold        time.Duration // how long a step may go unrecorded while what it asks for is computed; 20 ms: most code is over by then
	Plans       int           // how many versions are kept ready to run; as many as execution.NewPlans keeps
}

func (o Options) orDefaults() Options {
	orElse := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	orElse(&o.Concurrency, 64)
	orElse(&o.PerTenant, 32)
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Lease == 0 {
		o.Lease = 6 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	if o.Hold == 0 {
		o.Hold = 20 * time.Millisecond
	}
	if o.Name == "" {
		o.Name = "worker"
	}
	return o
}

// Worker implements inbound.Worker. It claims runs that are due, advances each in
// memory as far as that goes, records what it did, makes the attempts that the run asks
// for and applies how they ended. Every time that a run learns is by the clock of the database.
type Worker struct {
	work      outbound.UnitOfWork
	attempts  execution.Attempts
	signals   outbound.RunSignals
	random    outbound.Random
	key       run.Key
	plans     *execution.Plans
	computing execution.Computing
	calls     outbound.Budget
	growing   outbound.Budget
	allowance *execution.Allowance
	engine    outbound.Engine // nil where there is none to hand runs over to
	opts      Options
	panics    atomic.Int64
	defects   panicCounts
	session   atomic.Pointer[session] // nil while it does not work
}

var _ inbound.Worker = (*Worker)(nil)

// New returns a worker. The key makes resume tokens and has to be the same in all processes.
func New(work outbound.UnitOfWork, nodes outbound.NodeRunner, endpoints outbound.NodeEndpoints, compiler run.Compiler,
	directory outbound.Directory, signals outbound.RunSignals, random outbound.Random, key run.Key, budgets outbound.Budgets, allowance *execution.Allowance, opts Options) *Worker {
	opts = opts.orDefaults()
	return &Worker{
		work: work, attempts: execution.Attempts{Nodes: nodes, Endpoints: endpoints}, signals: signals, random: random, key: key, opts: opts,
		plans:     execution.NewPlans(work, directory, compiler, budgets, opts.Plans),
		computing: execution.NewComputing(budgets), calls: budgets.Calls, growing: budgets.Growing, allowance: allowance, defects: panicCounts{times: make(map[run.ID]int)},
	}
}

// WithCredentials has calls bear what connections give out. It returns the worker.
func (w *Worker) WithCredentials(credentials outbound.Credentials) *Worker {
	w.attempts.Credentials = credentials
	return w
}

// Panics returns how many panics were contained since the start.
func (w *Worker) Panics() int64 { return w.panics.Load() }

const (
	// storeTimeout is how long a unit of work may take that no lease depends on.
	storeTimeout = 15 * time.Second

	// minRenewTimeout is how long renewing leases may take at least before it is tried again.
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
	w.session.Store(s)
	defer w.session.Store(nil)
	var listening, keeping sync.WaitGroup
	listening.Go(func() {
		s.listen("follow the signals of runs", func(ctx context.Context) error { return w.signals.Subscribe(ctx, s.onSignal) })
	})
	if w.engine != nil {
		listening.Go(func() {
			s.listen("follow the requests for runs", func(ctx context.Context) error { return w.signals.SubscribeRequests(ctx, s.onRequest) })
		})
	}
	closing := make(chan struct{})
	keeping.Go(func() { s.restartOnPanic("keep leases", func() { s.renewLeasesUntil(closing) }) })

	s.restartOnPanic("claim runs", s.claimRuns)
	s.taking.Lock()   // none is begun with any more that was handed over
	s.taking.Unlock() //nolint:staticcheck // whoever comes later finds that it stops
	s.running.Wait()
	close(closing)
	keeping.Wait()
	listening.Wait()
}
