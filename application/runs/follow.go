package runs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// pollInterval is how often the store is asked whether runs went on, in case a signal was
	// lost: once for all runs that are followed in this process.
	pollInterval = time.Second

	// pollsPerRequest is after how many polls other processes are asked again for signals of the runs
	// that are followed here: often enough for a worker that starts, and for one that was
	// asked and did not hear.
	pollsPerRequest = 10

	// quietInterval is after how long a follower learns that nothing has happened.
	quietInterval = 15 * time.Second
)

// Follow hands over the history of a run as it grows. It reads entries only, never what the
// run has put out.
func (s *Service) Follow(ctx context.Context, who tenant.Caller, id run.ID, after int64, send func([]run.Entry) error) error {
	if err := who.May(tenant.FollowRun); err != nil {
		return err
	}
	key := outbound.RunKey{Scope: who.Scope, Run: id}
	follower, leave := s.followers.follow(key)
	defer leave()
	if over, err := s.hasEnded(ctx, key, after); over || err != nil {
		return err
	}
	quiet := time.NewTimer(quietInterval)
	defer quiet.Stop()
	for first := true; ; first = false {
		entries, more, err := s.history(ctx, key, after)
		if err != nil {
			return err
		}
		if !answers(who) {
			for i, e := range entries {
				entries[i] = e.WithoutLinks()
			}
		}
		n := len(entries)
		if n > 0 || first {
			if err := send(entries); err != nil {
				return err
			}
			quiet.Reset(quietInterval)
		}
		if n > 0 {
			after = entries[n-1].Seq
			if entries[n-1].Type.Ends() {
				return nil
			}
		}
		if more {
			continue
		}
		follower.seq.Store(after)
		if err := wait(ctx, follower, quiet, send); err != nil {
			return err
		}
	}
}

// hasEnded says whether a run has ended with the entry after, so that there is nothing to
// send. An entry that the run does not have yet is refused: nobody can know it.
func (s *Service) hasEnded(ctx context.Context, key outbound.RunKey, after int64) (over bool, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		seqs, err := st.Runs.Overview.Seqs(ctx, []outbound.RunKey{key})
		switch {
		case err != nil:
			return err
		case seqs[0] < 0:
			return domain.Fail(domain.NotFound, "run_not_found", "There is no such run.")
		case after < seqs[0]:
			return nil
		}
		var r domain.Rules
		r.Check(after == seqs[0], "after", domain.TooLarge, "must be at most %d, which is how many entries the run has so far, not %d", seqs[0], after)
		if err := r.Err("stream_invalid", "The parameters of the stream are not valid."); err != nil || after == 0 {
			return err
		}
		entries, _, err := st.Runs.Runs.History(ctx, key.Scope, key.Run, after-1)
		n := len(entries)
		over = n > 0 && entries[n-1].Seq == after && entries[n-1].Type.Ends()
		return err
	})
	return over, err
}

// wait returns when the run may have gone on.
func wait(ctx context.Context, f *follower, quiet *time.Timer, send func([]run.Entry) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.woken:
			if end := f.end.Load(); end != nil {
				return *end
			}
			return nil
		case <-quiet.C:
			quiet.Reset(quietInterval)
			if err := send(nil); err != nil {
				return err
			}
		}
	}
}

func (s *Service) history(ctx context.Context, key outbound.RunKey, after int64) (entries []run.Entry, more bool, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		entries, more, err = st.Runs.Runs.History(ctx, key.Scope, key.Run, after)
		return err
	})
	return entries, more, err
}

// followers are the runs that are followed in this process. While there are any, one
// goroutine listens for signals and another polls the store for all of them.
type followers struct {
	work     outbound.UnitOfWork
	signals  outbound.RunSignals
	interval time.Duration // between two looks

	mu   sync.Mutex
	runs map[run.ID]map[*follower]struct{}
	stop context.CancelFunc // nil while nobody follows
}

// follower waits for one run.
type follower struct {
	key   outbound.RunKey
	woken chan struct{}         // holds one
	seq   atomic.Int64          // of the last entry it knows
	end   atomic.Pointer[error] // why it cannot go on
}

// fail makes the follower end with an error.
func (f *follower) fail(err error) {
	f.end.Store(&err)
	f.wake()
}

func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default: // it is awake already
	}
}

func newFollowers(work outbound.UnitOfWork, signals outbound.RunSignals) *followers {
	return &followers{work: work, signals: signals, interval: pollInterval, runs: make(map[run.ID]map[*follower]struct{})}
}

// follow begins to follow a run, until leave is called.
func (w *followers) follow(key outbound.RunKey) (f *follower, leave func()) {
	f = &follower{key: key, woken: make(chan struct{}, 1)}
	w.add(f)
	w.signals.RequestProgress(key.Run)
	return f, func() { w.leave(f) }
}

func (w *followers) add(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs[f.key.Run] == nil {
		w.runs[f.key.Run] = make(map[*follower]struct{})
	}
	w.runs[f.key.Run][f] = struct{}{}
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.listen(ctx)
		go w.poll(ctx)
	}
}

func (w *followers) leave(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs[f.key.Run], f)
	if len(w.runs[f.key.Run]) == 0 {
		delete(w.runs, f.key.Run)
	}
	if len(w.runs) == 0 {
		w.stop()
		w.stop = nil
	}
}

// listen wakes the followers of runs that signals name.
func (w *followers) listen(ctx context.Context) {
	for again := true; again; again = outbound.Sleep(ctx, w.interval) { // meanwhile the store is polled
		if err := w.recoverPanic(func() error { return w.signals.SubscribeProgress(ctx, w.onSignal) }); err == nil {
			return
		}
	}
}

// recoverPanic makes an error of a panic, with which those who follow now end: nobody else
// can report it.
func (w *followers) recoverPanic(fn func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("follow runs: %w", inbound.Panicked(thrown))
			all, _ := w.all()
			for _, followers := range all {
				for _, f := range followers {
					f.fail(err)
				}
			}
		}
	}()
	return fn()
}

func (w *followers) onSignal(changed []run.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range changed {
		for f := range w.runs[id] {
			f.wake()
		}
	}
	if len(changed) > 0 {
		return
	}
	for _, followers := range w.runs { // signals may have been lost
		for f := range followers {
			f.wake()
		}
	}
}

// poll asks the store now and then how far the runs are, all in one question.
func (w *followers) poll(ctx context.Context) {
	for looks := 1; outbound.Sleep(ctx, w.interval); looks++ {
		_ = w.recoverPanic(func() error { // the next look may succeed, and a follower that is woken meets the error itself
			return w.pollOnce(ctx, looks%pollsPerRequest == 0)
		})
	}
}

func (w *followers) pollOnce(ctx context.Context, want bool) error {
	all, keys := w.all()
	if want {
		ids := make([]run.ID, len(keys))
		for i, key := range keys {
			ids[i] = key.Run
		}
		w.signals.RequestProgress(ids...)
	}
	var seqs []int64
	err := w.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		seqs, err = st.Runs.Overview.Seqs(ctx, keys)
		return err
	})
	if err != nil {
		return err
	}
	for i, key := range keys {
		for _, f := range all[key] {
			switch {
			case seqs[i] < 0:
				f.fail(domain.Fail(domain.NotFound, "run_not_found", "There is no such run any more."))
			case seqs[i] > f.seq.Load():
				f.wake()
			}
		}
	}
	return nil
}

func (w *followers) all() (all map[outbound.RunKey][]*follower, keys []outbound.RunKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = make(map[outbound.RunKey][]*follower, len(w.runs))
	for _, followers := range w.runs {
		for f := range followers {
			if len(all[f.key]) == 0 {
				keys = append(keys, f.key)
			}
			all[f.key] = append(all[f.key], f)
		}
	}
	return all, keys
}
