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

func (h *heard) tell(entries []run.Entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entries...)
	return nil
}

// follow follows a run until the test ends.
func (d *desk) follow(id run.ID, after int64) *heard {
	h := &heard{ended: make(chan error, 1)}
	go func() { h.ended <- d.runs.Follow(d.Context(), d.who, id, after, h.tell) }()
	return h
}

func (d *desk) hears(h *heard, want ...run.EntryType) {
	d.Helper()
	d.eventually("the follower hears of it", func() bool { return len(h.types()) >= len(want) })
	d.same(want, h.types())
}

func TestAFollowerHearsEverythingOnceAndUntilTheEnd(t *testing.T) {
	atDesk(t, func(d *desk) {
		id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
		before := []run.EntryType{run.EntryRunStarted, run.EntryNodeWaiting, run.EntryRunPaused}
		all := d.follow(id, 0)
		d.hears(all, before...)
		late := d.follow(id, 2)
		d.hears(late, before[2:]...)
		if err := d.resume(run.ResumeCall{Run: id, Token: d.token(id), Input: body(`true`)}); err != nil {
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
			if last := h.entries[len(h.entries)-1]; last.Type != run.EntryRunCompleted || last.Seq != d.get(id).Seq() {
				t.Errorf("the last is %v", last)
			}
		}
		finished := d.follow(id, 0)
		if err := <-finished.ended; err != nil || len(finished.entries) != int(d.get(id).Seq()) {
			t.Errorf("%d entries, %v", len(finished.entries), err)
		}
		nothing := d.follow(id, d.get(id).Seq())
		if err := <-nothing.ended; err != nil || len(nothing.entries) > 0 {
			t.Errorf("%v, %v", nothing.entries, err)
		}
	})
}

func TestAFollowerFindsWhatNobodyTellsOf(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	d.runs.LookAgainAfter(100 * time.Millisecond)
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	h := d.follow(id, 2)
	d.hears(h, run.EntryRunPaused)
	before := d.store.reads()
	d.eventually("the store is asked once more, so that it waits", func() bool { return d.store.reads() > before })
	d.happens(id, run.CancelRequested{})
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
	d.same([]run.EntryType{run.EntryRunPaused, run.EntryNodeCancelled, run.EntryRunCancelled}, h.types())
}

// Nobody looks at the store again in this test: what the worker did is told by signals, in
// its own process and from another one.
func TestAFollowerHearsAtOnceWhatAWorkerDid(t *testing.T) {
	for claim, elsewhere := range map[string]bool{"in its own process": false, "in another process": true} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			store := openSQLite(t)
			if elsewhere {
				store = openPostgres(t)
			}
			d := newDesk(t, store)
			d.runs.LookAgainAfter(time.Hour)
			signals := d.signals
			if elsewhere {
				signals = sqlstore.NewRunSignals(store)
				for _, s := range []*sqlstore.RunSignals{signals, d.signals} {
					ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
					var running sync.WaitGroup
					running.Go(func() { s.Run(ctx, func(err error) { t.Log(err) }) })
					t.Cleanup(running.Wait)
					t.Cleanup(stop)
				}
			}
			d.works(d.newWorker(d.store, signals, workerSetup))
			answer := make(chan outbound.NodeOutcome)
			d.outside.answer = func(ctx context.Context, _ outbound.NodeCall) (outbound.NodeOutcome, error) {
				select {
				case o := <-answer:
					return o, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			// Enough nodes for the two processes to have found each other before the last ones.
			nodes, edges := chainOfCalls(20)
			id := d.accept(d.version(nodes, edges), 1, accepted{})[0]
			d.until(id, "the first call is made", func(r *run.Run) bool { return len(d.outside.made()) == 1 })
			h := d.follow(id, 0)
			d.eventually("the follower follows", func() bool { return len(h.types()) > 0 })
			for range nodes {
				before := len(h.types())
				answer <- outbound.NodeCompleted{Output: map[string]any{"ok": true}}
				if !elsewhere {
					d.eventually("the follower hears of the end of the call", func() bool { return len(h.types()) > before })
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
	d := newDesk(t, openSQLite(t))
	id := d.accept(d.version([]string{forInput}, nil), 1, accepted{})[0]
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // before the first sign of life
	defer cancel()
	listening := errors.New("it listens")
	err := d.runs.Follow(ctx, d.who, id, 0, func(entries []run.Entry) error {
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
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	never := func([]run.Entry) error { t.Error("it was told something"); return nil }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := d.runs.Follow(ctx, d.who, id, d.get(id).Seq()+1, never)
	d.wantCode(err, domain.Invalid, "stream_invalid")
	d.wantCode(d.runs.Follow(ctx, d.who, "run_unknown", 0, never), domain.NotFound, "run_not_found")
}

// Of a run that has put out much, its history alone is read.
func TestAFollowerDoesNotReadWhatTheRunPutOut(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	d.happens(id, run.CancelRequested{})
	d.store.wrapReads(func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = noWholeRuns{st.Runs.Runs, t}
		return st
	})
	if err := d.runs.Follow(t.Context(), d.who, id, 0, func([]run.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
}

// noWholeRuns are runs of which nobody may read more than their histories.
type noWholeRuns struct {
	outbound.RunRepository
	t *testing.T
}

func (r noWholeRuns) Get(ctx context.Context, owner tenant.ID, id run.ID) (*run.Run, error) {
	r.t.Error("the whole run was read")
	return r.RunRepository.Get(ctx, owner, id)
}

func TestAPanicWhileRunsAreFollowedEndsTheirFollowersAndNothingElse(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	d.runs.LookAgainAfter(time.Millisecond)
	ids := d.waiting(d.version([]string{forInput}, nil), "e", 2)
	var all []*heard
	for _, id := range ids {
		h := d.follow(id, 0)
		d.eventually("the follower follows", func() bool { return len(h.types()) > 0 })
		all = append(all, h)
	}
	d.store.wrapReads(func(outbound.Stores) outbound.Stores { panic("on purpose") })
	for _, h := range all {
		if err := <-h.ended; err == nil || !strings.Contains(err.Error(), "on purpose") || domain.KindOf(err) != domain.Internal {
			t.Errorf("it ended with %v", err)
		}
	}
	d.store.wrapReads(nil)
	again := d.follow(ids[0], 0)
	d.eventually("another follower follows", func() bool { return len(again.types()) > 0 })
	d.happens(ids[0], run.CancelRequested{})
	if err := <-again.ended; err != nil {
		t.Error(err)
	}
}

func TestAFollowerIsToldThatTheRunIsGone(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	d.runs.LookAgainAfter(100 * time.Millisecond)
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	h := d.follow(id, 0)
	d.eventually("the follower follows", func() bool { return len(h.types()) > 0 })
	d.do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, d.owner) })
	d.wantCode(<-h.ended, domain.NotFound, "run_not_found")
}

func TestAFollowerThatCannotBeToldIsLeft(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	gone := errors.New("the connection is gone")
	if err := d.runs.Follow(t.Context(), d.who, id, 0, func([]run.Entry) error { return gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	told := make(chan struct{})
	go func() {
		ended <- d.runs.Follow(ctx, d.who, id, 0, func([]run.Entry) error { close(told); return nil })
	}()
	<-told
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyFollowersAskTheStoreTogether(t *testing.T) {
	const pause = 300 * time.Millisecond
	d := newDesk(t, openSQLite(t))
	d.runs.LookAgainAfter(pause)
	ids := d.waiting(d.version([]string{forInput}, nil), "e", 5)
	var all []*heard
	for i := range 40 {
		all = append(all, d.follow(ids[i%len(ids)], 0))
	}
	for _, h := range all {
		d.eventually("they follow", func() bool { return len(h.types()) == 3 })
	}
	begun, before := time.Now(), d.store.reads()
	const looks = 3
	d.eventually("the store is asked", func() bool { return d.store.reads() >= before+looks })
	if asked := d.store.reads() - before; asked > looks+1 || time.Since(begun) < (looks-1)*pause {
		t.Errorf("%d followers asked %d times in %s", len(all), asked, time.Since(begun))
	}
	for i, id := range ids {
		d.happens(id, run.CancelRequested{})
		for j := i; j < len(all); j += len(ids) {
			if err := <-all[j].ended; err != nil {
				t.Error(err)
			}
		}
	}
}

// wrapReads changes what units that only read have to do with from now on.
func (w *watched) wrapReads(wrap func(outbound.Stores) outbound.Stores) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrapRead = wrap
}

func (w *watched) reads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read
}
