package runs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// heard is what a follower is told.
type heard struct {
	mu      sync.Mutex
	entries []run.Entry
	ended   chan error
}

func (h *heard) types() (types []run.EntryType) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries {
		types = append(types, e.Type)
	}
	return types
}

func (h *heard) receive(entries []run.Entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entries...)
	return nil
}

// follow follows a run until the test ends.
func (d *env) follow(id run.ID, after int64) *heard {
	h := &heard{ended: make(chan error, 1)}
	go func() { h.ended <- d.Runs.Follow(d.Context(), d.Caller, id, after, h.receive) }()
	return h
}

func (d *env) hears(h *heard, want ...run.EntryType) {
	d.Helper()
	d.Eventually("the follower hears of it", func() bool { return len(h.types()) >= len(want) })
	d.Same(want, h.types())
}

func TestAFollowerHearsEverythingOnceAndUntilTheEnd(t *testing.T) {
	onEachStore(t, func(d *env) {
		id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
		before := []run.EntryType{run.EntryRunStarted, run.EntryNodeWaiting, run.EntryRunPaused}
		all := d.follow(id, 0)
		d.hears(all, before...)
		late := d.follow(id, 2)
		d.hears(late, before[2:]...)
		if err := d.resume(run.ResumeCall{Run: id, Token: d.token(id), Input: fixture.Body(`true`)}); err != nil {
			t.Fatal(err)
		}
		for h, first := range map[*heard]int{all: 0, late: 2} {
			if err := <-h.ended; err != nil {
				t.Error(err)
			}
			for i, e := range h.entries {
				if e.Seq != int64(first+i+1) {
					t.Errorf("entry %d bears the number %d", i, e.Seq)
				}
			}
			if last := h.entries[len(h.entries)-1]; last.Type != run.EntryRunCompleted || last.Seq != d.Get(id).Seq() {
				t.Errorf("the last is %v", last)
			}
		}
		finished := d.follow(id, 0)
		if err := <-finished.ended; err != nil || len(finished.entries) != int(d.Get(id).Seq()) {
			t.Errorf("%d entries, %v", len(finished.entries), err)
		}
		nothing := d.follow(id, d.Get(id).Seq())
		if err := <-nothing.ended; err != nil || len(nothing.entries) > 0 {
			t.Errorf("%v, %v", nothing.entries, err)
		}
	})
}

func TestAFollowerFindsWhatNobodyTellsOf(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.SetPollInterval(100 * time.Millisecond)
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	h := d.follow(id, 2)
	d.hears(h, run.EntryRunPaused)
	before := d.Store.Reads()
	d.Eventually("the store is asked once more, so that it waits", func() bool { return d.Store.Reads() > before })
	d.Advance(id, run.CancelRequested{})
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
	d.Same([]run.EntryType{run.EntryRunPaused, run.EntryNodeCancelled, run.EntryRunCancelled}, h.types())
}

// Nobody looks at the store again in this test: what the worker did is told by signals, in
// its own process and from another one.
func TestAFollowerHearsAtOnceWhatAWorkerDid(t *testing.T) {
	for claim, elsewhere := range map[string]bool{"in its own process": false, "in another process": true} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			store := fixture.OpenSQLite(t)
			if elsewhere {
				store = fixture.OpenPostgres(t)
			}
			d := newEnv(t, store)
			d.Runs.SetPollInterval(time.Hour)
			signals := d.Signals
			if elsewhere {
				signals = sqlstore.NewRunSignals(store)
				for _, s := range []*sqlstore.RunSignals{signals, d.Signals} {
					ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
					var running sync.WaitGroup
					running.Go(func() { s.Run(ctx, func(err error) { t.Log(err) }) })
					t.Cleanup(running.Wait)
					t.Cleanup(stop)
				}
			}
			d.Work(d.NewWorker(d.Store, signals, fixture.WorkerOptions))
			answer := make(chan outbound.NodeOutcome)
			d.NodeRunner.Answer = func(ctx context.Context, _ outbound.NodeCall) (outbound.NodeOutcome, error) {
				select {
				case o := <-answer:
					return o, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			// Enough nodes for the two processes to have found each other before the last ones.
			nodes, edges := chainOfCalls(20)
			id := d.Accept(d.NewVersion(nodes, edges), 1, fixture.RunOptions{})[0]
			d.Until(id, "the first call is made", func(r *run.Run) bool { return len(d.NodeRunner.Attempts()) == 1 })
			h := d.follow(id, 0)
			d.Eventually("the follower follows", func() bool { return len(h.types()) > 0 })
			for range nodes {
				before := len(h.types())
				answer <- outbound.NodeCompleted{Output: map[string]any{"ok": true}}
				if !elsewhere {
					d.Eventually("the follower hears of the end of the call", func() bool { return len(h.types()) > before })
				}
			}
			select {
			case err := <-h.ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(30 * time.Second):
				t.Errorf("it heard of %v only", h.types())
			}
		})
	}
}

// chainOfCalls is n nodes that call out one after another.
func chainOfCalls(n int) (nodes, edges []string) {
	for i := range n {
		nodes = append(nodes, fmt.Sprintf(`n%02d httpRequest {"url": "https://example.com/"}`, i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf("n%02d -> n%02d", i-1, i))
		}
	}
	return nodes, edges
}

// Whoever follows a run that nobody has taken up learns that it is followed.
func TestAFollowerHearsAtOnceThatItFollows(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Accept(d.NewVersion([]string{fixture.InputNode}, nil), 1, fixture.RunOptions{})[0]
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // before the first sign of life
	defer cancel()
	listening := errors.New("it listens")
	err := d.Runs.Follow(ctx, d.Caller, id, 0, func(entries []run.Entry) error {
		if len(entries) > 0 {
			t.Errorf("it was told %v", entries)
		}
		return listening
	})
	if !errors.Is(err, listening) {
		t.Error(err)
	}
}

func TestAFollowerDoesNotWaitForWhatARunDoesNotHave(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	never := func([]run.Entry) error { t.Error("it was told something"); return nil }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := d.Runs.Follow(ctx, d.Caller, id, d.Get(id).Seq()+1, never)
	d.WantCode(err, domain.Invalid, "stream_invalid")
	d.WantCode(d.Runs.Follow(ctx, d.Caller, "run_unknown", 0, never), domain.NotFound, "run_not_found")
}

// Of a run that has put out much, its history alone is read.
func TestAFollowerDoesNotReadWhatTheRunPutOut(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	d.Advance(id, run.CancelRequested{})
	d.Store.SetWrapRead(func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = noWholeRuns{st.Runs.Runs, t}
		return st
	})
	if err := d.Runs.Follow(t.Context(), d.Caller, id, 0, func([]run.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
}

// noWholeRuns are runs of which nobody may read more than their histories.
type noWholeRuns struct {
	outbound.RunRepository
	t *testing.T
}

func (r noWholeRuns) Get(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Run, error) {
	r.t.Error("the whole run was read")
	return r.RunRepository.Get(ctx, scope, id)
}

func TestAPanicWhileRunsAreFollowedEndsTheirFollowersAndNothingElse(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.SetPollInterval(time.Millisecond)
	ids := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 2)
	var all []*heard
	for _, id := range ids {
		h := d.follow(id, 0)
		d.Eventually("the follower follows", func() bool { return len(h.types()) > 0 })
		all = append(all, h)
	}
	d.Store.SetWrapRead(func(outbound.Stores) outbound.Stores { panic("on purpose") })
	for _, h := range all {
		if err := <-h.ended; err == nil || !strings.Contains(err.Error(), "on purpose") || domain.KindOf(err) != domain.Internal {
			t.Errorf("it ended with %v", err)
		}
	}
	d.Store.SetWrapRead(nil)
	again := d.follow(ids[0], 0)
	d.Eventually("another follower follows", func() bool { return len(again.types()) > 0 })
	d.Advance(ids[0], run.CancelRequested{})
	if err := <-again.ended; err != nil {
		t.Error(err)
	}
}

func TestAFollowerIsToldThatTheRunIsGone(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.SetPollInterval(100 * time.Millisecond)
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	h := d.follow(id, 0)
	d.Eventually("the follower follows", func() bool { return len(h.types()) > 0 })
	d.Do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, d.Owner) })
	d.WantCode(<-h.ended, domain.NotFound, "run_not_found")
}

func TestAFollowerThatCannotBeToldIsLeft(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	gone := errors.New("the connection is gone")
	if err := d.Runs.Follow(t.Context(), d.Caller, id, 0, func([]run.Entry) error { return gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	told := make(chan struct{})
	go func() {
		ended <- d.Runs.Follow(ctx, d.Caller, id, 0, func([]run.Entry) error { close(told); return nil })
	}()
	<-told
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyFollowersAskTheStoreTogether(t *testing.T) {
	const pause = 300 * time.Millisecond
	d := newEnv(t, fixture.OpenSQLite(t))
	d.Runs.SetPollInterval(pause)
	ids := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 5)
	var all []*heard
	for i := range 40 {
		all = append(all, d.follow(ids[i%len(ids)], 0))
	}
	for _, h := range all {
		d.Eventually("they follow", func() bool { return len(h.types()) == 3 })
	}
	begun, before := time.Now(), d.Store.Reads()
	const looks = 3
	d.Eventually("the store is asked", func() bool { return d.Store.Reads() >= before+looks })
	if asked := d.Store.Reads() - before; asked > looks+1 || time.Since(begun) < (looks-1)*pause {
		t.Errorf("%d followers asked %d times in %s", len(all), asked, time.Since(begun))
	}
	for i, id := range ids {
		d.Advance(id, run.CancelRequested{})
		for j := i; j < len(all); j += len(ids) {
			if err := <-all[j].ended; err != nil {
				t.Error(err)
			}
		}
	}
}
