package runs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
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

func TestAFollowerIsToldThatTheRunIsGone(t *testing.T) {
	d := newDesk(t, openSQLite(t))
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
	d := newDesk(t, openSQLite(t))
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
	if asked := d.store.reads() - before; asked > looks || time.Since(begun) < looks*time.Second-1500*time.Millisecond {
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

func (w *watched) reads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read
}
