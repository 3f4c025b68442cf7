package runs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// lookAgain is how often the store is asked whether a run went on, should word of it
	// have been lost: once for all runs that are followed in this process.
	lookAgain = time.Second

	// silence is after how long a follower is told that nothing has happened.
	silence = 15 * time.Second
)

// Follow tells the history of a run as it grows.
func (s *Runs) Follow(ctx context.Context, who tenant.Caller, id run.ID, after int64, tell func([]run.Entry) error) error {
	if err := who.May(tenant.FollowRun); err != nil {
		return err
	}
	key := outbound.RunKey{Tenant: who.Tenant, Run: id}
	follower, leave := s.followed.enter(key)
	defer leave()
	r, err := s.read(ctx, key)
	if err != nil {
		return err
	}
	if r.Status().Finished() && after >= r.Seq() {
		return nil
	}
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		entries, err := s.history(ctx, key, after)
		if err != nil {
			return err
		}
		if n := len(entries); n > 0 {
			if err := tell(entries); err != nil {
				return err
			}
			after = entries[n-1].Seq
			if entries[n-1].Type.Ends() {
				return nil
			}
			quiet.Reset(silence)
		}
		follower.seq.Store(after)
		if err := wait(ctx, follower, quiet, tell); err != nil {
			return err
		}
	}
}

// wait returns when the run may have gone on.
func wait(ctx context.Context, f *follower, quiet *time.Timer, tell func([]run.Entry) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.woken:
			if f.gone.Load() {
				return domain.Fail(domain.NotFound, "run_not_found", "There is no such run any more.")
			}
			return nil
		case <-quiet.C:
			quiet.Reset(silence)
			if err := tell(nil); err != nil {
				return err
			}
		}
	}
}

func (s *Runs) read(ctx context.Context, key outbound.RunKey) (r *run.Run, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		r, err = st.Runs.Runs.Get(ctx, key.Tenant, key.Run)
		return err
	})
	return r, err
}

func (s *Runs) history(ctx context.Context, key outbound.RunKey, after int64) (entries []run.Entry, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		entries, err = st.Runs.Runs.History(ctx, key.Tenant, key.Run, after)
		return err
	})
	return entries, err
}

// followed are the runs that are followed in this process. While there are any, one
// goroutine listens for word of runs and another looks at the store for all of them.
type followed struct {
	work    outbound.UnitOfWork
	signals outbound.RunSignals

	mu   sync.Mutex
	runs map[run.ID]map[*follower]struct{}
	stop context.CancelFunc // nil while nobody follows
}

// follower waits for one run.
type follower struct {
	key   outbound.RunKey
	woken chan struct{} // holds one
	seq   atomic.Int64  // of the last entry it knows
	gone  atomic.Bool   // there is no such run any more
}

func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default: // it is awake already
	}
}

func newFollowed(work outbound.UnitOfWork, signals outbound.RunSignals) *followed {
	return &followed{work: work, signals: signals, runs: make(map[run.ID]map[*follower]struct{})}
}

// enter begins to follow a run, until leave is called.
func (w *followed) enter(key outbound.RunKey) (f *follower, leave func()) {
	f = &follower{key: key, woken: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs[key.Run] == nil {
		w.runs[key.Run] = make(map[*follower]struct{})
	}
	w.runs[key.Run][f] = struct{}{}
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.listen(ctx)
		go w.look(ctx)
	}
	return f, func() { w.leave(f) }
}

func (w *followed) leave(f *follower) {
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

// listen wakes those who follow runs of which there is word.
func (w *followed) listen(ctx context.Context) {
	for again := true; again; again = sleep(ctx, lookAgain) { // meanwhile the store is looked at
		if err := w.signals.Follow(ctx, w.heard); err == nil {
			return
		}
	}
}

func (w *followed) heard(changed []run.ID) {
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
	for _, followers := range w.runs { // word may have been lost
		for f := range followers {
			f.wake()
		}
	}
}

// look asks the store now and then how far the runs are, all in one question.
func (w *followed) look(ctx context.Context) {
	for sleep(ctx, lookAgain) {
		all, keys := w.all()
		var seqs []int64
		err := w.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			seqs, err = st.Runs.Live.Seqs(ctx, keys)
			return err
		})
		if err != nil {
			continue // the next look may succeed, and a follower that is woken meets the error itself
		}
		for i, key := range keys {
			for _, f := range all[key] {
				switch {
				case seqs[i] < 0:
					f.gone.Store(true)
					f.wake()
				case seqs[i] > f.seq.Load():
					f.wake()
				}
			}
		}
	}
}

func (w *followed) all() (all map[outbound.RunKey][]*follower, keys []outbound.RunKey) {
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

// sleep waits, and says whether to go on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
