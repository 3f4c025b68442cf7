package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// boundStop interrupts what goes on too long after the worker is to stop, unless it is cancelled.
func (s *session) boundStop() (cancel func()) {
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
	running  sync.WaitGroup // jobs and their attempts
	taking   sync.RWMutex   // held for reading while a run is taken over

	interrupt    context.CancelCauseFunc
	abandonUnits context.CancelFunc
	claims       context.Context //nolint:containedctx // ends when no claim is waited for any more
	endClaims    context.CancelFunc

	wakeup     chan struct{} // holds one when runs may be free that were not
	placeFreed chan struct{} // holds one when a place was given up
	renewNow   chan struct{} // holds one when leases are to be renewed at once
	clock      databaseClock

	contention    *contention
	isolationTurn chan struct{} // holds one while an isolated run computes
	largeReads    chan struct{} // holds one for each large run that is being read, which takes several times its size

	mu           sync.Mutex
	jobs         map[run.ID]*job
	jobsOf       map[tenant.ID]int        // how many of each tenant
	size         int64                    // of all of them
	needsRecheck map[run.ID]*job          // after a signal
	watched      map[run.ID]time.Duration // until when somebody looks at them, since the session began
	toReturn     []outbound.RunLease      // to be given back
	renewed      chan struct{}            // closed and replaced when leases were renewed
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
		jobs: make(map[run.ID]*job), jobsOf: make(map[tenant.ID]int), isolationTurn: make(chan struct{}, 1), largeReads: make(chan struct{}, maxLargeReads),
		needsRecheck: make(map[run.ID]*job), watched: make(map[run.ID]time.Duration), renewed: make(chan struct{}),
	}
	s.contention = newContention(s.began)
	detached := context.WithoutCancel(ctx)
	s.effects, s.interrupt = context.WithCancelCause(detached)
	s.units, s.abandonUnits = context.WithCancel(detached)
	s.claims, s.endClaims = context.WithCancel(s.units)
	s.records = newRecorder(s.units, w.work, w.signals, w.random, s.contention.yield)
	return s, func() {
		s.interrupt(errStopping)
		s.abandonUnits()
	}
}

// listen follows what processes tell each other until the worker is to stop.
func (s *session) listen(what string, subscribe func(ctx context.Context) error) {
	for s.stopping.Err() == nil {
		err := s.recoverPanic(what, func() error { return subscribe(s.stopping) })
		if err != nil && s.stopping.Err() == nil {
			s.report(err)
			outbound.Sleep(s.stopping, time.Second)
		}
	}
}

// onRequest has runs recorded that somebody wants to see.
func (s *session) onRequest(runs []run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range runs {
		s.noteRequest(id)
		if j := s.jobs[id]; j != nil {
			j.watch()
		}
	}
}

// onSignal has runs that are worked on checked, and others claimed. Without runs, both.
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

// notify fills a channel that holds one.
func notify(wakeup chan struct{}) {
	select {
	case wakeup <- struct{}{}:
	default:
	}
}
