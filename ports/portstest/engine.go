package portstest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// EngineProcess is what a process has of an engine.
type EngineProcess interface {
	outbound.Engine

	// Serve has a worker called, by as many runs at a time, until ctx ends.
	Serve(ctx context.Context, mover inbound.Worker, concurrency int, failed func(error))
}

// EngineUnderTest is an engine that several processes share.
type EngineUnderTest struct {
	// Open returns what one more process has of it. After die, and the end of its Serve, nothing comes from that
	// process any more. It dies with the test.
	Open func(t *testing.T) (p EngineProcess, die func())

	Away outbound.Engine // one that does not answer
}

// Engine is the contract of outbound.Engine.
func Engine(t *testing.T, open func(t *testing.T) EngineUnderTest) {
	for claim, check := range map[string]func(f *engineFixture){
		"a run comes to a process that serves":                       comesToWhoServes,
		"a run waits for a process that serves":                      waitsForWhoServes,
		"a run comes again after an error":                           comesAfterAnError,
		"a lease does not come twice at the same time":               comesOnceAtATime,
		"a newer lease comes once the older one was answered":        comesWithANewerLease,
		"what is kept comes with the next lease":                     keepsForTheNextLease,
		"what is kept outlasts the process":                          keepsBeyondTheProcess,
		"nothing is kept of a run at rest":                           forgetsWhatRests,
		"handing over ends with its context where nobody answers it": endsWithItsContext,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			check(&engineFixture{T: t, EngineUnderTest: open(t), calls: make(chan *engineCall), over: t.Context().Done(), done: make(map[run.ID]engineAnswer), underWay: make(map[outbound.RunLease]bool)})
		})
	}
}

// engineFixture has processes share an engine. The calls of their workers come to the test.
type engineFixture struct {
	*testing.T
	EngineUnderTest
	calls chan *engineCall
	over  <-chan struct{}

	mu       sync.Mutex
	done     map[run.ID]engineAnswer // the last answer of each run
	underWay map[outbound.RunLease]bool
}

// engineCall is a call of a worker, which lasts until the test answers it.
type engineCall struct {
	inbound.HandedOver
	by     *engineWorker
	answer chan engineAnswer
}

type engineAnswer struct {
	inbound.MovedOn
	lease int64
	err   error
}

// engineWorker stands for the worker of a process.
type engineWorker struct {
	inbound.Worker
	f *engineFixture
}

var errNotServed = errors.New("another process may")

// MoveOn has the test answer. A lease that is not good any more it answers as workers do.
func (w *engineWorker) MoveOn(_ context.Context, h inbound.HandedOver) (inbound.MovedOn, error) {
	if came, ok := w.f.begin(h); ok {
		return came, nil
	}
	defer w.f.leave(h)
	call := &engineCall{HandedOver: h, by: w, answer: make(chan engineAnswer, 1)}
	select {
	case w.f.calls <- call:
	case <-w.f.over:
		return inbound.MovedOn{}, errNotServed
	}
	select {
	case a := <-call.answer:
		return a.MovedOn, a.err
	case <-w.f.over:
		return inbound.MovedOn{}, errNotServed
	}
}

// IsAtRest says what the last answer said.
func (w *engineWorker) IsAtRest(_ context.Context, _ tenant.ID, id run.ID) (bool, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.f.done[id].Rests, nil
}

// begin answers a lease that was answered before.
func (f *engineFixture) begin(h inbound.HandedOver) (came inbound.MovedOn, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.done[h.Run]; last.lease >= h.Lease {
		return inbound.MovedOn{Rests: last.Rests, IsKept: true}, true
	}
	if lease := leaseOf(h); f.underWay[lease] {
		f.Errorf("called for %+v twice at the same time", lease)
	} else {
		f.underWay[lease] = true
	}
	return came, false
}

func (f *engineFixture) leave(h inbound.HandedOver) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.underWay, leaseOf(h))
}

func leaseOf(h inbound.HandedOver) outbound.RunLease {
	return outbound.RunLease{Tenant: h.Tenant, Run: h.Run, Number: h.Lease}
}

// serve begins a process that serves. After die it answers nothing any more.
func (f *engineFixture) serve() (p EngineProcess, w *engineWorker, die func()) {
	f.Helper()
	p, end := f.Open(f.T)
	ctx, stop := context.WithCancel(context.WithoutCancel(f.Context()))
	f.Cleanup(stop)
	w = &engineWorker{f: f}
	go p.Serve(ctx, w, 4, func(error) {})
	return p, w, func() { stop(); end() }
}

// lease is one of a run that no other test has.
func (f *engineFixture) lease() outbound.RunLease {
	return outbound.RunLease{Tenant: tenant.ID("tenant_" + rand.Text()), Run: run.ID(run.IDPrefix + "_" + rand.Text()), Number: 1}
}

func (f *engineFixture) handOver(p outbound.Engine, lease outbound.RunLease) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), engineTimeout)
	defer cancel()
	if err := p.HandOver(ctx, lease); err != nil {
		f.Fatalf("handing over: %v", err)
	}
}

// handOverAgain hands a lease over until stop is called, as workers do.
func (f *engineFixture) handOverAgain(p outbound.Engine, lease outbound.RunLease) (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		for more := true; more; more = outbound.Sleep(ctx, engineTimeout/4) {
			if err := p.HandOver(ctx, lease); err != nil && ctx.Err() == nil {
				f.Errorf("handing over: %v", err)
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}

// engineTimeout is longer than an engine takes to notice that a process has died.
const engineTimeout = time.Minute

// next is the next call, which is to be for a lease.
func (f *engineFixture) next(lease outbound.RunLease) *engineCall {
	f.Helper()
	select {
	case call := <-f.calls:
		if got := leaseOf(call.HandedOver); got != lease {
			f.Fatalf("called for %+v and not for %+v", got, lease)
		}
		return call
	case <-time.After(engineTimeout):
		f.Fatalf("nobody is called for %+v", lease)
	}
	return nil
}

// end answers a call. It comes to nobody again.
func (f *engineFixture) end(call *engineCall, came inbound.MovedOn) {
	a := engineAnswer{MovedOn: came, lease: call.Lease}
	f.mu.Lock()
	f.done[call.Run] = a
	f.mu.Unlock()
	call.answer <- a
}

// keep has the engine keep something in a call.
func (f *engineFixture) keep(call *engineCall, what []byte) {
	f.Helper()
	if err := call.Keep(f.Context(), what); err != nil {
		f.Fatalf("keeping: %v", err)
	}
}

// rests is the answer that nothing is to be done any more.
var rests = inbound.MovedOn{Rests: true}

func comesToWhoServes(f *engineFixture) {
	here, _ := f.Open(f.T)
	_, there, _ := f.serve()
	for range 3 {
		lease := f.lease()
		f.handOver(here, lease)
		call := f.next(lease)
		if call.by != there || len(call.Kept) > 0 || call.Keep == nil {
			f.Errorf("called with %q kept, keeps more: %t", call.Kept, call.Keep != nil)
		}
		f.end(call, rests)
	}
}

func waitsForWhoServes(f *engineFixture) {
	here, die := f.Open(f.T)
	lease := f.lease()
	f.handOver(here, lease)
	die()
	f.serve()
	f.end(f.next(lease), rests)
}

func comesAfterAnError(f *engineFixture) {
	here, _, _ := f.serve()
	f.serve()
	lease := f.lease()
	f.handOver(here, lease)
	for range 3 {
		f.next(lease).answer <- engineAnswer{err: errNotServed}
	}
	f.end(f.next(lease), rests)
}

func comesOnceAtATime(f *engineFixture) {
	here, _, _ := f.serve()
	there, _, _ := f.serve()
	lease := f.lease()
	f.handOver(here, lease)
	call := f.next(lease)
	for _, p := range []EngineProcess{here, there, here} {
		f.handOver(p, lease)
	}
	for range 3 { // what was handed over later comes, and this does not
		other := f.lease()
		f.handOver(there, other)
		f.end(f.next(other), rests)
	}
	f.end(call, inbound.MovedOn{})
	lease.Number++
	f.handOver(there, lease)
	f.end(f.next(lease), rests)
}

func comesWithANewerLease(f *engineFixture) {
	here, _, _ := f.serve()
	there, _, _ := f.serve()
	for _, came := range []inbound.MovedOn{rests, {}, {IsKept: true}} {
		lease := f.lease()
		f.handOver(here, lease)
		older := f.next(lease)
		f.keep(older, []byte("older"))
		lease.Number++
		f.handOver(there, lease)
		f.end(older, came)
		newer := f.next(lease)
		f.keep(newer, []byte("newer"))
		if err := older.Keep(f.Context(), []byte("late")); err == nil {
			f.Error("a call that was answered keeps more")
		}
		f.end(newer, inbound.MovedOn{IsKept: true})
		lease.Number++
		f.handOver(there, lease)
		last := f.next(lease)
		if string(last.Kept) != "newer" {
			f.Errorf("after %+v, kept is %q", came, last.Kept)
		}
		f.end(last, rests)
	}
}

// maxKept is what an engine keeps of a run.
const maxKept = 64 << 10

func keepsForTheNextLease(f *engineFixture) {
	here, _, _ := f.serve()
	f.serve()
	most := make([]byte, maxKept)
	_, _ = rand.Read(most) // it never fails
	lease := f.lease()
	f.handOver(here, lease)
	call := f.next(lease)
	f.keep(call, []byte("older"))
	f.keep(call, most)
	f.end(call, inbound.MovedOn{IsKept: true})
	for range 3 { // it stays for as long as nothing else is kept
		lease.Number++
		f.handOver(here, lease)
		if call = f.next(lease); !bytes.Equal(call.Kept, most) {
			f.Errorf("kept are %d bytes, or other ones", len(call.Kept))
		}
		f.end(call, inbound.MovedOn{IsKept: true})
	}
}

func keepsBeyondTheProcess(f *engineFixture) {
	here, _, die := f.serve()
	lease := f.lease()
	f.handOver(here, lease)
	call := f.next(lease)
	f.keep(call, []byte("older"))
	f.keep(call, []byte("newer"))
	die() // the call is not answered
	there, survivor, _ := f.serve()
	for _, came := range []inbound.MovedOn{{IsKept: true}, rests} {
		lease.Number++
		stop := f.handOverAgain(there, lease) // it may have come to the process that died
		call = f.next(lease)
		if stop(); string(call.Kept) != "newer" || call.by != survivor {
			f.Errorf("lease %d comes with %q", lease.Number, call.Kept)
		}
		f.end(call, came)
	}
}

func forgetsWhatRests(f *engineFixture) {
	here, _, _ := f.serve()
	lease := f.lease()
	f.handOver(here, lease)
	call := f.next(lease)
	f.keep(call, []byte("what it did"))
	f.end(call, rests)
	for until := time.Now().Add(engineTimeout); ; { // a lease may come before the engine has looked at the answer
		lease.Number++
		f.handOver(here, lease)
		if call = f.next(lease); len(call.Kept) == 0 {
			break
		}
		if time.Now().After(until) {
			f.Fatalf("lease %d comes with %q", lease.Number, call.Kept)
		}
		f.end(call, inbound.MovedOn{Rests: true, IsKept: true})
	}
	f.end(call, rests)
}

func endsWithItsContext(f *engineFixture) {
	here, _ := f.Open(f.T)
	over, cancel := context.WithCancel(f.Context())
	cancel()
	soon, cancelSoon := context.WithTimeout(f.Context(), 100*time.Millisecond)
	defer cancelSoon()
	for claim, try := range map[string]func() error{
		"it was over before":                     func() error { return here.HandOver(over, f.lease()) },
		"nobody answers":                         func() error { return f.Away.HandOver(soon, f.lease()) },
		"nobody answers, and it was over before": func() error { return f.Away.HandOver(over, f.lease()) },
	} {
		began := time.Now()
		if err, took := try(), time.Since(began); err == nil || took > 5*time.Second {
			f.Error(fmt.Errorf("%s: after %s: %w", claim, took, err))
		}
	}
}
