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

// Topic is the topic of a Notices channel that names runs of which there is word.
const Topic = "sluice_runs"

const (
	// betweenNotices is the least time between two notices, so that a process costs the
	// database the same however much it tells.
	betweenNotices = 5 * time.Millisecond

	// afterLostNotice is the pause after a notice that could not be sent, or when nothing
	// can be heard.
	afterLostNotice = time.Second

	// noticeTimeout is how long sending one may take.
	noticeTimeout = 5 * time.Second
)

// Signals implements outbound.RunSignals. Within the process word is passed on at
// once. Other processes are told, and heard, while Run is running, where the database
// carries notices between processes; where it does not, they find out by looking.
type Signals struct {
	store  *core.Store
	origin string // tells the process's own notices from those of others

	mu        sync.Mutex
	followers []*follower
	telling   bool     // Run is running, and the database carries notices
	untold    []run.ID // to other processes
	lost      bool     // more than untold is to be told
	progress  progress
	news      chan struct{}
}

// follower hears what is told.
type follower struct {
	heard   func([]run.ID)
	closely bool // and what runs do under their workers
}

var _ outbound.RunSignals = (*Signals)(nil)

// NewSignals returns the signals of a store's runs.
func NewSignals(store *core.Store) *Signals {
	return &Signals{store: store, origin: rand.Text(), news: make(chan struct{}, 1)}
}

// Notify passes on word of runs.
func (s *Signals) Notify(changed ...run.ID) {
	if len(changed) == 0 {
		return
	}
	s.mu.Lock()
	if s.telling {
		if len(s.untold) < core.MaxNotice { // more do not fit in any case
			s.untold = append(s.untold, changed...)
		}
		s.ring()
	}
	followers := s.followers
	s.mu.Unlock()
	for _, f := range followers {
		f.heard(changed)
	}
}

// ring says that there is something to be told to other processes.
func (s *Signals) ring() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Subscribe hears word of runs until ctx ends, and then returns nil.
func (s *Signals) Subscribe(ctx context.Context, heard func(changed []run.ID)) error {
	return s.follow(ctx, &follower{heard: heard})
}

func (s *Signals) follow(ctx context.Context, f *follower) error {
	if ctx.Err() != nil {
		return nil
	}
	s.mu.Lock()
	s.followers = append(slices.Clip(s.followers), f)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.followers = slices.DeleteFunc(slices.Clone(s.followers), func(other *follower) bool { return other == f })
	}()
	<-ctx.Done()
	return nil
}

// Run tells other processes, and hears what they tell, until ctx ends. It hands errors
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
	s.tells(true)
	defer s.tells(false)
	var listening sync.WaitGroup
	listening.Go(func() { s.listen(ctx, report) })
	s.send(ctx, report)
	listening.Wait()
}

func (s *Signals) tells(now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.telling, s.untold, s.lost, s.progress = now, nil, false, progress{}
}

// send tells other processes. The first word goes out at once; what is told shortly
// after another notice goes out together.
func (s *Signals) send(ctx context.Context, failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.news:
		}
		pause := betweenNotices
		if err := s.notify(ctx); err != nil && ctx.Err() == nil {
			s.mu.Lock()
			s.lost = true
			s.mu.Unlock()
			failed(err)
			pause = afterLostNotice
			s.ring() // to be tried again although nobody tells anything
		}
		if !outbound.Sleep(ctx, pause) {
			return
		}
	}
}

func (s *Signals) notify(ctx context.Context) error {
	s.mu.Lock()
	var words []string
	if len(s.untold) > 0 || s.lost {
		words = []string{notice(s.origin, s.untold, s.lost)}
	}
	advanced, wanting := s.progress.take()
	s.untold, s.lost = nil, false
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	for _, topic := range []struct {
		name  string
		texts []string
	}{{Topic, words}, {wantedTopic, notices(s.origin, wanting)}, {advancedTopic, notices(s.origin, advanced)}} {
		for _, text := range topic.texts {
			if err := s.store.Notify(ctx, topic.name, text); err != nil {
				return fmt.Errorf("tell other processes of runs: %w", err)
			}
		}
	}
	return nil
}

// listen hears other processes.
func (s *Signals) listen(ctx context.Context, failed func(error)) {
	for ctx.Err() == nil {
		err := s.store.Listen(ctx, []string{Topic, wantedTopic, advancedTopic}, func(topic, text string) {
			origin, named := readNotice(text)
			switch {
			case origin == s.origin:
			case topic == wantedTopic:
				s.wants(named)
			case topic == advancedTopic:
				s.tellClosely(named)
			default:
				s.tellFollowers(named)
			}
		}, func(connected bool) {
			if connected {
				s.tellFollowers(nil) // whatever was told before is lost
			}
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		failed(err)
		outbound.Sleep(ctx, afterLostNotice)
	}
}

func (s *Signals) tellFollowers(changed []run.ID) {
	s.mu.Lock()
	followers := s.followers
	s.mu.Unlock()
	for _, f := range followers {
		f.heard(changed)
	}
}

// notice writes what a notice says: who sends it, and the runs; the runs are left out
// when there are too many, or more than these.
func notice(origin string, changed []run.ID, more bool) string {
	size := len(origin)
	for _, id := range changed {
		size += 1 + len(id)
	}
	if more || size > core.MaxNotice {
		return origin
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(origin)
	for _, id := range changed {
		b.WriteByte(' ')
		b.WriteString(string(id))
	}
	return b.String()
}

func readNotice(text string) (origin string, changed []run.ID) {
	origin, rest, _ := strings.Cut(text, " ")
	for id := range strings.FieldsSeq(rest) {
		changed = append(changed, run.ID(id))
	}
	return origin, changed
}
