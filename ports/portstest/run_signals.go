package portstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// OpenSignals opens the signals of one store twice, as two processes would have them.
// there is nil where processes are not notified of each other. Both end with the test.
type OpenSignals func(t *testing.T) (here, there outbound.RunSignals)

// SignalRecorder records signals for tests.
type SignalRecorder struct {
	mu      sync.Mutex
	all     []run.ID // in order
	lost    int      // how often word may have been lost
	calls   int
	changed chan struct{} // closed and replaced with every call
}

// RecordSignals follows signals until the test ends or stop is called, which waits for the
// end. It returns once signals arrive.
func RecordSignals(t *testing.T, signals outbound.RunSignals) (e *SignalRecorder, stop func()) {
	t.Helper()
	return recordSignals(t, signals, signals.Subscribe)
}

// RecordProgress does the same for progress under workers as well.
func RecordProgress(t *testing.T, signals outbound.RunSignals) (e *SignalRecorder, stop func()) {
	t.Helper()
	return recordSignals(t, signals, signals.SubscribeProgress)
}

func recordSignals(t *testing.T, signals outbound.RunSignals, follow func(context.Context, func([]run.ID)) error) (e *SignalRecorder, stop func()) {
	t.Helper()
	e = &SignalRecorder{changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, e.record) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("following ended with %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("following did not end with its context")
		}
	})
	t.Cleanup(stop)
	e.Eventually(t, "word of the process itself", func() bool {
		probe := run.ID(newID("run"))
		signals.Notify(probe)
		return e.Count(probe) > 0
	})
	return e, stop
}

func (e *SignalRecorder) record(changed []run.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	if e.all = append(e.all, changed...); len(changed) == 0 {
		e.lost++
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// Count is how often a run was reported.
func (e *SignalRecorder) Count(id run.ID) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, other := range e.all {
		if other == id {
			n++
		}
	}
	return n
}

// Lost is how often it was said that word may have been lost.
func (e *SignalRecorder) Lost() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}

// Calls is how often there was word at all.
func (e *SignalRecorder) Calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

// Eventually waits until something is true, and fails the test when it takes very long.
func (e *SignalRecorder) Eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		e.mu.Lock()
		news := e.changed
		e.mu.Unlock()
		if fn() {
			return
		}
		select {
		case <-news:
		case <-time.After(10 * time.Millisecond): // it may be made true by fn itself
		case <-deadline:
			t.Fatalf("there was no %s", what)
		}
	}
}

// newRunIDs makes identifiers of runs.
func newRunIDs(n int) []run.ID {
	made := make([]run.ID, n)
	for i := range made {
		made[i] = run.ID(newID("run"))
	}
	return made
}

// RunSignals is the contract of outbound.RunSignals.
func RunSignals(t *testing.T, open OpenSignals) {
	signalsWithinProcess(t, open)
	t.Run("another process hears", func(t *testing.T) {
		t.Parallel()
		here, there := open(t)
		if there == nil {
			return
		}
		betweenProcesses(t, here, there)
	})
	t.Run("requests are heard by every process", func(t *testing.T) {
		t.Parallel()
		here, there := open(t)
		for _, process := range []outbound.RunSignals{here, there} {
			if process == nil {
				continue
			}
			heard := make(chan run.ID, 100)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- process.SubscribeRequests(ctx, func(runs []run.ID) {
					for _, id := range runs {
						select {
						case heard <- id:
						default:
						}
					}
				})
			}()
			want := newRunIDs(1)[0]
			for found, deadline := false, time.Now().Add(20*time.Second); !found; { // it may not listen yet
				other := newRunIDs(1)[0]
				here.Notify(other)
				here.RequestProgress(want)
				select {
				case id := <-heard:
					if found = id == want; id == other {
						t.Fatal("a change is heard as well")
					}
				case <-time.After(10 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatal("nothing is heard")
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("another process hears of the runs that it wants word of", func(t *testing.T) {
		t.Parallel()
		here, there := open(t)
		if there == nil {
			return
		}
		progressBetweenProcesses(t, here, there)
	})
}

func signalsWithinProcess(t *testing.T, open OpenSignals) {
	t.Run("within a process, everybody who follows is called before Notify returns, once", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		one, _ := RecordSignals(t, here)
		two, _ := RecordSignals(t, here)
		for _, id := range newRunIDs(3) {
			here.Notify(id)
			if one.Count(id) != 1 || two.Count(id) != 1 {
				t.Errorf("it was heard %d and %d times", one.Count(id), two.Count(id))
			}
		}
	})
	t.Run("who has stopped following hears nothing", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		gone, stop := RecordSignals(t, here)
		stays, _ := RecordSignals(t, here)
		stop()
		told := newRunIDs(2)
		here.Notify(told...)
		if gone.Count(told[0]) != 0 || stays.Count(told[0]) != 1 || stays.Count(told[1]) != 1 {
			t.Errorf("it was heard %d and %d times", gone.Count(told[0]), stays.Count(told[0]))
		}
	})
	t.Run("who comes too late hears nothing and returns", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := here.Subscribe(over, func([]run.ID) { t.Error("it was told") }); err != nil {
			t.Error(err)
		}
		here.Notify(newRunIDs(1)...)
	})
	t.Run("to tell nothing is no word", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		e, _ := RecordSignals(t, here)
		before := e.Lost()
		here.Notify()
		if e.Lost() != before {
			t.Error("it was heard as lost word")
		}
	})
	t.Run("many may tell and follow at the same time", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		e, _ := RecordSignals(t, here)
		told := newRunIDs(400)
		var done sync.WaitGroup
		for part := range slices.Chunk(told, 50) {
			done.Go(func() {
				for _, id := range part {
					here.Notify(id)
				}
			})
			done.Go(func() {
				_, stop := RecordSignals(t, here)
				stop()
			})
		}
		done.Wait()
		for _, id := range told {
			if e.Count(id) != 1 {
				t.Fatalf("%s was heard %d times", id, e.Count(id))
			}
		}
	})
	t.Run("what runs do under their workers is heard by those who follow closely", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		usual, _ := RecordSignals(t, here)
		closely, stop := RecordProgress(t, here)
		done := newRunIDs(3)
		here.NotifyProgress(done[0])
		here.Notify(done[1])
		lost := closely.Lost()
		here.NotifyProgress()
		stop()
		here.NotifyProgress(done[2])
		for i, want := range []struct{ usual, closely int }{{0, 1}, {1, 1}, {0, 0}} {
			if usual.Count(done[i]) != want.usual || closely.Count(done[i]) != want.closely || closely.Lost() != lost {
				t.Errorf("%d: it was heard %d times, and %d times closely", i, usual.Count(done[i]), closely.Count(done[i]))
			}
		}
	})
}

// betweenProcesses checks what one process learns of another.
func betweenProcesses(t *testing.T, here, there outbound.RunSignals) {
	t.Helper()
	mine, _ := RecordSignals(t, here)
	theirs, _ := RecordSignals(t, there)
	probe, back := newRunIDs(1)[0], newRunIDs(1)[0]
	theirs.Eventually(t, "word of another process", func() bool { // the two may have to find each other first
		here.Notify(probe)
		return theirs.Count(probe) > 0
	})
	mine.Eventually(t, "word of the other process", func() bool {
		there.Notify(back)
		return mine.Count(back) > 0
	})
	t.Run("and what it told itself it hears once", func(t *testing.T) {
		told := newRunIDs(2)
		here.Notify(told...)
		theirs.Eventually(t, "word", func() bool { return theirs.Count(told[0]) == 1 && theirs.Count(told[1]) == 1 })
		there.Notify(newRunIDs(1)...)
		answer := newRunIDs(1)[0]
		there.Notify(answer) // which comes back after what went out before
		mine.Eventually(t, "word", func() bool { return mine.Count(answer) == 1 })
		if mine.Count(told[0]) != 1 {
			t.Errorf("it was heard %d times", mine.Count(told[0]))
		}
	})
	t.Run("more than can be named is heard as lost word", func(t *testing.T) {
		lost := theirs.Lost()
		here.Notify(newRunIDs(2000)...)
		theirs.Eventually(t, "lost word", func() bool { return theirs.Lost() > lost })
	})
	t.Run("a thousand words cost few messages, and the last is not left out", func(t *testing.T) {
		calls := theirs.Calls()
		for i := range 1000 {
			here.Notify(run.ID(fmt.Sprint("run_", i)))
		}
		end := newRunIDs(1)[0]
		theirs.Eventually(t, "word after the last", func() bool {
			here.Notify(end)
			return theirs.Count(end) > 0
		})
		if n := theirs.Calls() - calls; n > 300 {
			t.Errorf("%d messages were heard", n)
		}
	})
}

// progressBetweenProcesses checks what one process learns of the workers of another.
func progressBetweenProcesses(t *testing.T, here, there outbound.RunSignals) {
	t.Helper()
	usual, _ := RecordSignals(t, there)
	closely, _ := RecordProgress(t, there)
	many := newRunIDs(700) // more than one notice can name
	wanted, other := many[0], newRunIDs(1)[0]
	closely.Eventually(t, "word of what another process wants", func() bool {
		there.RequestProgress(many...) // again, since the other one may not listen yet
		here.NotifyProgress(other, wanted)
		return closely.Count(wanted) > 0
	})
	last := many[len(many)-1]
	closely.Eventually(t, "word of the last that it wants", func() bool {
		here.NotifyProgress(last)
		return closely.Count(last) > 0
	})
	closely.Eventually(t, "word of all that it wants", func() bool {
		here.NotifyProgress(many...)
		for _, id := range many {
			if closely.Count(id) == 0 {
				return false
			}
		}
		return true
	})
	if closely.Count(other) != 0 || usual.Count(wanted) != 0 || usual.Count(last) != 0 {
		t.Errorf("one that nobody wants was heard %d times, and one %d times by who does not follow closely", closely.Count(other), usual.Count(wanted))
	}
}
