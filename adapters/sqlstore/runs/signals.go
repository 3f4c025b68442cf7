package runs

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Topic is the topic of a Notices channel that names runs that changed.
const Topic = "sluice_runs"

const (
	// minNoticeGap is the least time between two notices, so that a process costs the
	// database the same however much it reports.
	minNoticeGap = 5 * time.Millisecond

	// noticeRetryPause is the pause after a notice that could not be sent, or received.
	noticeRetryPause = time.Second

	// noticeTimeout is how long sending one may take.
	noticeTimeout = 5 * time.Second
)

// Signals implements outbound.RunSignals. Subscribers of the process are called at once.
// Notices go to other processes, and come from them, while Run is running, where the
// database carries notices between processes; where it does not, they find out by polling.
type Signals struct {
	store  *core.Store
	origin string // of the process's own notices

	mu          sync.Mutex
	subscribers []*subscriber
	connected   bool     // Run is running, and the database carries notices
	pending     []run.ID // to be sent to other processes
	lost        bool     // more than pending is to be sent
	progress    progress
	wakeup      chan struct{}
}

// signal is what runs are named for.
type signal int

const (
	changed    signal = 1 << iota
	progressed        // under a worker
	requested         // somebody wants to see them
)

type subscriber struct {
	onSignal func([]run.ID)
	wants    signal
}

var _ outbound.RunSignals = (*Signals)(nil)

// NewSignals returns the signals of a store's runs.
func NewSignals(store *core.Store) *Signals {
	return &Signals{store: store, origin: rand.Text(), wakeup: make(chan struct{}, 1)}
}

// Notify reports runs to all processes.
func (s *Signals) Notify(runs ...run.ID) {
	if len(runs) == 0 {
		return
	}
	s.mu.Lock()
	if s.connected {
		if len(s.pending) < core.MaxNotice { // more do not fit in any case
			s.pending = append(s.pending, runs...)
		}
		s.wake()
	}
	s.mu.Unlock()
	s.publish(runs, changed)
}

// wake says that there is something to be sent to other processes.
func (s *Signals) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// Subscribe calls onSignal for changed runs until ctx ends, and then returns nil.
func (s *Signals) Subscribe(ctx context.Context, onSignal func(changed []run.ID)) error {
	return s.subscribe(ctx, &subscriber{onSignal: onSignal, wants: changed})
}

func (s *Signals) subscribe(ctx context.Context, sub *subscriber) error {
	if ctx.Err() != nil {
		return nil
	}
	s.mu.Lock()
	s.subscribers = append(slices.Clip(s.subscribers), sub)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribers = slices.DeleteFunc(slices.Clone(s.subscribers), func(other *subscriber) bool { return other == sub })
	}()
	<-ctx.Done()
	return nil
}

// publish calls the subscribers of this process that want a signal.
func (s *Signals) publish(runs []run.ID, why signal) {
	s.mu.Lock()
	subscribers := s.subscribers
	s.mu.Unlock()
	for _, sub := range subscribers {
		if sub.wants&why != 0 {
			sub.onSignal(runs)
		}
	}
}

// Run sends notices to other processes, and receives theirs, until ctx ends. It hands errors
// to failed, by one goroutine at a time, and goes on.
func (s *Signals) Run(ctx context.Context, failed func(error)) {
	if !s.store.CanNotify() {
		return
	}
	var reporting sync.Mutex
	report := func(err error) {
		reporting.Lock()
		defer reporting.Unlock()
		failed(err)
	}
	s.setConnected(true)
	defer s.setConnected(false)
	var receiving sync.WaitGroup
	receiving.Go(func() { s.receive(ctx, report) })
	s.send(ctx, report)
	receiving.Wait()
}

func (s *Signals) setConnected(now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected, s.pending, s.lost, s.progress = now, nil, false, progress{}
	if now {
		s.store.Lists().Connect(s.wake)
	} else {
		s.store.Lists().Connect(nil)
	}
}

// send sends notices. The first goes out at once; what is reported shortly after a notice
// goes out together.
func (s *Signals) send(ctx context.Context, failed func(error)) {
	renewal := time.NewTicker(core.ListRequestInterval)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			s.store.Lists().Renew()
			continue
		case <-s.wakeup:
		}
		pause := minNoticeGap
		if err := s.sendPending(ctx); err != nil && ctx.Err() == nil {
			s.mu.Lock()
			s.lost = true
			s.mu.Unlock()
			s.store.Lists().Untaken()
			failed(err)
			pause = noticeRetryPause
			s.wake() // to try again although nothing is reported
		}
		if !outbound.Sleep(ctx, pause) {
			return
		}
	}
}

func (s *Signals) sendPending(ctx context.Context) error {
	s.mu.Lock()
	var notices []string
	if len(s.pending) > 0 || s.lost {
		notices = []string{notice(s.origin, s.pending, s.lost)}
	}
	advanced, requests := s.progress.take()
	s.pending, s.lost = nil, false
	s.mu.Unlock()
	listRequests, lists := s.store.Lists().Take(s.origin)
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	for _, topic := range []struct {
		name  string
		texts []string
	}{
		{Topic, notices},
		{progressRequestTopic, core.PackNotices(s.origin, requests)}, {progressTopic, core.PackNotices(s.origin, advanced)},
		{core.ListRequestTopic, listRequests}, {core.ListTopic, lists},
	} {
		for _, text := range topic.texts {
			if err := s.store.Notify(ctx, topic.name, text); err != nil {
				return fmt.Errorf("notify other processes of runs: %w", err)
			}
		}
	}
	return nil
}

// receive receives the notices of other processes.
func (s *Signals) receive(ctx context.Context, failed func(error)) {
	for ctx.Err() == nil {
		err := s.store.Listen(ctx, []string{Topic, progressRequestTopic, progressTopic, core.ListRequestTopic, core.ListTopic}, func(topic, text string) {
			origin, words, _ := strings.Cut(text, " ")
			switch {
			case origin == s.origin:
			case topic == core.ListRequestTopic, topic == core.ListTopic:
				s.store.Lists().Receive(topic, strings.Fields(words))
			case topic == progressRequestTopic:
				s.addRequests(runsNamed(words))
			case topic == progressTopic:
				s.publish(runsNamed(words), progressed)
			default:
				s.publish(runsNamed(words), changed)
			}
		}, func(connected bool) {
			if connected {
				s.publish(nil, changed) // earlier notices are lost
				s.store.Lists().LoseAll()
			}
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		failed(err)
		outbound.Sleep(ctx, noticeRetryPause)
	}
}

// notice writes what a notice says: who sends it, and the runs; the runs are left out
// when there are too many, or more than these.
func notice(origin string, runs []run.ID, more bool) string {
	size := len(origin)
	for _, id := range runs {
		size += 1 + len(id)
	}
	if more || len(runs) == 0 || size > core.MaxNotice {
		return origin
	}
	return core.PackNotices(origin, runs)[0]
}

func runsNamed(words string) (runs []run.ID) {
	for id := range strings.FieldsSeq(words) {
		runs = append(runs, run.ID(id))
	}
	return runs
}
