package worker_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Three processes hand runs over to one another, and one of them ends meanwhile: what runs call is called
// once, waits end, and retries are made.
func TestRunsThatAreHandedOverEndOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		w.HandOverTo(new(fixture.Relay))
		ver := w.NewVersion([]string{"call " + fixture.CallNode, `wait wait {"delayMs": 400}`, `text transform {"expression": "({ ok: true })"}`}, []string{"call -> wait", "wait -> text"})
		opts := fixture.WorkerOptions
		opts.Lease = 2 * time.Second
		for range 2 {
			w.Work(w.NewWorker(w.Store, w.Signals, opts))
		}
		stop := w.Work(w.NewWorker(w.Store, w.Signals, opts))
		ids := w.Accept(ver, 20, fixture.RunOptions{Retry: workflow.RetryPolicy{MaxRetries: 1, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}})
		stop()
		for _, id := range ids {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
				w.Errorf("%s: %s, %+v", id, r.Status(), r.Failure())
			}
			if got := w.History(id); count(got, "run.started") != 1 || count(got, "node.completed call") != 1 || count(got, "node.completed text") != 1 || count(got, "run.completed") != 1 {
				w.Errorf("%s: %q", id, got)
			}
		}
	})
}

func count(all []string, one string) (n int) {
	for _, other := range all {
		if other == one {
			n++
		}
	}
	return n
}

// While the engine is away runs wait, and those of the table go on.
func TestRunsWaitForAnEngineThatIsAway(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "it has runs begin on the table, too")
	onEachStore(t, func(w *env) {
		ver := w.NewVersion(twoTransforms, twoTransformEdges)
		before := w.Accept(ver, 3, fixture.RunOptions{})
		relay := new(fixture.Relay)
		relay.SetAway(true)
		w.HandOverTo(relay)
		ids := w.Accept(ver, 10, fixture.RunOptions{})
		w.Work(w.NewWorker(w.Store, w.Signals, fixture.ShortLeaseOptions))
		for _, id := range before {
			w.Until(id, "a run of the table ends", fixture.Finished)
		}
		for _, id := range ids {
			if r := w.Get(id); r.Status() != run.StatusPending {
				w.Errorf("%s is %s", id, r.Status())
			}
		}
		w.Eventually("somebody is told", func() bool { return w.Errors() != nil })
		relay.SetAway(false)
		for _, id := range ids {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
				w.Errorf("%s: %s", id, r.Status())
			}
		}
	})
}

// However many are handed over, no more of a tenant are worked on than it may have.
func TestAnEngineIsGivenAsManyRunsOfATenantAsItMayHave(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.HandOverTo(new(fixture.Relay))
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		begun <- struct{}{}
		<-goOn
		return outbound.NodeCompleted{}, nil
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	opts := fixture.WorkerOptions
	opts.PerTenant = 3
	for range 2 {
		w.Work(w.NewWorker(w.Store, w.Signals, opts))
	}
	ids := w.Accept(ver, 12, fixture.RunOptions{})
	for range 3 {
		await(t, begun, "an attempt begins")
	}
	select {
	case <-begun:
		t.Error("a fourth run of the tenant is worked on")
	case <-time.After(time.Second):
	}
	close(goOn)
	for _, id := range ids {
		w.Until(id, "the run ends", fixture.Finished)
	}
	if made := w.NodeRunner.Attempts(); len(made) != len(ids) || slices.ContainsFunc(made, func(one string) bool { return one != "a 1" }) {
		t.Errorf("made are %q", made)
	}
}

// lineOfCalls are nodes that call one after the other, as many as there are letters.
func (w *env) lineOfCalls(letters string) *workflow.Version {
	var nodes, edges []string
	for i, id := range letters {
		nodes = append(nodes, string(id)+" "+fixture.CallNode)
		if i > 0 {
			edges = append(edges, letters[i-1:i]+" -> "+string(id))
		}
	}
	return w.NewVersion(nodes, edges)
}

// hangsAt has the first call of a node hang until the worker gives it up. It returns what is closed once that call came.
func (w *env) hangsAt(id workflow.NodeID) (begun <-chan struct{}) {
	came, once := make(chan struct{}), new(sync.Once)
	w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		first := false
		if call.NodeID == string(id) {
			once.Do(func() { first = true; close(came) })
		}
		if first {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return outbound.NodeCompleted{Output: map[string]any{"of": call.NodeID}}, nil
	}
	return came
}

// hangingRun starts a run of a line of calls that is handed over to a relay, and returns it once the call of a node hangs.
func (w *env) hangingRun(letters string, at workflow.NodeID) (id run.ID, relay *fixture.Relay) {
	w.Helper()
	relay = new(fixture.Relay)
	w.HandOverTo(relay)
	begun := w.hangsAt(at)
	w.StartWorker()
	id = w.Accept(w.lineOfCalls(letters), 1, fixture.RunOptions{})[0]
	await(w, begun, "the call of "+string(at)+" begins")
	return id, relay
}

// What runs do between two pauses costs the database one statement, however many calls that is; whoever looks finds it all.
func TestTheEngineKeepsWhatARunDoesUntilSomebodyLooks(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		id, relay := w.hangingRun("abcdef", "e")
		if r := w.Stored(id); r.Status() != run.StatusRunning || len(r.Executed()) != 0 || relay.Kept(id) != 4 {
			w.Errorf("stored is a run that is %s and has executed %q; the engine keeps %d facts", r.Status(), r.Executed(), relay.Kept(id))
		}
		r := w.Until(id, "the calls are seen", func(r *run.Run) bool { return len(r.Executed()) > 0 })
		if got := r.Executed(); !slices.Equal(got, []workflow.NodeID{"a", "b", "c", "d"}) {
			w.Errorf("seen are %q", got)
		}
	})
}

// Calls that came back before a process ended are not made again by the next one.
func TestWhatTheEngineKeepsOutlastsTheProcess(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		if os.Getenv(fixture.EngineVariable) == "" {
			w.HandOverTo(new(fixture.Relay))
		}
		begun := w.hangsAt("e")
		dying := fixture.NewStore(w.Raw)
		stop := w.Work(w.NewWorker(dying, w.Signals, fixture.ShortLeaseOptions))
		ids := w.Accept(w.lineOfCalls("abcdef"), 1, fixture.RunOptions{})
		await(w, begun, "the fifth call begins")
		dying.FailWith(func(context.Context) error { return errors.New("this process writes nothing any more") })
		w.Work(w.NewWorker(w.Store, w.Signals, fixture.ShortLeaseOptions))
		r := w.Until(ids[0], "another process ends it", fixture.Finished)
		if made := w.NodeRunner.Attempts(); r.Status() != run.StatusCompleted || !slices.Equal(made, []string{"a 1", "b 1", "c 1", "d 1", "e 1", "e 1", "f 1"}) {
			w.Errorf("it is %s after %q", r.Status(), made)
		}
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			if got := w.History(ids[0]); count(got, "node.started "+id) != 1 || count(got, "node.completed "+id) != 1 {
				w.Errorf("of %s: %q", id, got)
			}
		}
		if output, _ := r.Output("d"); string(output) != `{"of":"d"}` {
			w.Errorf("d gave %s", output)
		}
		stop()
		_ = w.Errors() // those of the process that writes nothing
	})
}

// Somebody else changes the run in the database while the engine has more of it.
func TestWhatTheEngineKeepsIsGivenToARunThatOthersChange(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		relay := new(fixture.Relay)
		w.HandOverTo(relay)
		begun := w.hangsAt("d")
		w.StartWorker()
		ver := w.NewVersion([]string{"a " + fixture.CallNode, "b " + fixture.CallNode, "c " + fixture.CallNode, "d " + fixture.CallNode, `paid waitForEvent {"event": "paid"}`},
			[]string{"a -> b", "b -> c", "c -> d"})
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		await(w, begun, "the fourth call begins")
		w.Advance(id, run.EventArrived{Event: "paid"})
		r := w.Until(id, "the calls are seen", func(r *run.Run) bool { return len(r.Executed()) > 3 })
		if made := w.NodeRunner.Attempts(); !slices.Equal(made, []string{"a 1", "b 1", "c 1", "d 1"}) {
			w.Errorf("made are %q", made)
		}
		if got := w.History(id); len(r.Executed()) != 4 || count(got, "node.completed c") != 1 || count(got, "node.completed paid") != 1 {
			w.Errorf("%q: %q", r.Executed(), got)
		}
	})
}

// A run that is too large for the engine is recorded, step by step, and nothing large leaves the process.
func TestWhatIsTooLargeForTheEngineIsRecorded(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	relay := new(fixture.Relay)
	w.HandOverTo(relay)
	begun := make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		switch call.NodeID {
		case "c":
			return outbound.NodeCompleted{Output: strings.Repeat("x", 60_000)}, nil
		case "b":
			return outbound.NodeCompleted{Output: strings.Repeat("x", 10_000)}, nil
		case "f":
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return outbound.NodeCompleted{}, nil
	}
	w.StartWorker()
	id := w.Accept(w.lineOfCalls("abcdef"), 1, fixture.RunOptions{})[0]
	await(t, begun, "the last call begins")
	if got := w.Stored(id).Executed(); !slices.Equal(got, []workflow.NodeID{"a", "b", "c", "d", "e"}) || relay.Kept(id) != 2 {
		t.Errorf("stored are %q; the engine keeps %d facts", got, relay.Kept(id))
	}
}

// An engine that goes away while a run is worked on costs it nothing.
func TestWhatTheEngineDoesNotKeepIsRecorded(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	relay := new(fixture.Relay)
	w.HandOverTo(relay)
	begun := make(chan struct{})
	w.NodeRunner.Answer = func(_ context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		if call.NodeID == "b" {
			relay.SetAway(true)
		}
		if call.NodeID == "d" {
			close(begun)
		}
		return outbound.NodeCompleted{}, nil
	}
	w.StartWorker()
	id := w.Accept(w.lineOfCalls("abcd"), 1, fixture.RunOptions{})[0]
	await(w, begun, "the fourth call begins")
	if r := w.Stored(id); len(r.Executed()) < 3 {
		w.Errorf("stored are %q", r.Executed())
	}
	r := w.Until(id, "the run ends", fixture.Finished)
	if made := w.NodeRunner.Attempts(); r.Status() != run.StatusCompleted || len(made) != 4 {
		w.Errorf("it is %s after %q", r.Status(), made)
	}
	if w.Errors() == nil {
		w.Error("nobody is told")
	}
}

// Whoever reads a run, or cancels it, gets all that it has done.
func TestARunIsReadAndCancelledWithWhatTheEngineKeeps(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		id, _ := w.hangingRun("abcd", "d")
		if n := len(w.Stored(id).Executed()); n != 0 {
			w.Errorf("%d are stored before", n)
		}
		shown, err := w.Runs.Get(w.Context(), w.Caller, id)
		if err != nil || len(shown.Run.Executed()) != 3 {
			w.Fatalf("read are %q, %v", shown.Run.Executed(), err)
		}
	})
	onEachStore(t, func(w *env) {
		id, _ := w.hangingRun("abcd", "d")
		if _, err := w.Runs.Cancel(w.Context(), w.Caller, domain.IdempotencyKey{}, id, "enough"); err != nil {
			w.Fatal(err)
		}
		if r := w.Stored(id); r.Status() != run.StatusCancelled || len(r.Executed()) != 3 {
			w.Errorf("%s after %q", r.Status(), r.Executed())
		}
	})
}

// What a run does can be kept, and not be recorded: it fails as a run of the table does.
func TestARunWhoseKeptStepsAreRefusedIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.HandOverTo(new(fixture.Relay))
	var refused atomic.Int64
	w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Runs = refusing{st.Runs.Runs, func(s outbound.RunStep) error {
			if !slices.ContainsFunc(s.History, func(e run.Entry) bool { return e.Type == run.EntryNodeCompleted && e.Node == "b" }) {
				return nil
			}
			refused.Add(1)
			return domain.Fail(domain.Invalid, "refused", "No.")
		}}
		return st
	}
	w.StartWorker()
	id := w.Accept(w.lineOfCalls("abc"), 1, fixture.RunOptions{})[0]
	r := w.Until(id, "the run is given up", fixture.Finished)
	if n := refused.Load(); r.Status() != run.StatusFailed || n == 0 || n > 20 {
		t.Errorf("it is %s after %d refusals", r.Status(), n)
	}
	if w.Errors() == nil {
		t.Error("nobody is told")
	}
}

// A node that waits is known to everybody at once, also where what came before it is kept.
func TestANodeThatWaitsIsRecordedWhileCodeIsComputed(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.HandOverTo(new(fixture.Relay))
	ver := w.NewVersion([]string{"a " + fixture.CallNode, "c " + codeNode, "d " + codeNode, `q waitForEvent {"event": "paid"}`}, []string{"a -> c", "c -> d", "c -> q"})
	begun, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		if call.NodeID == "d" {
			close(begun)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return outbound.NodeCompleted{}, nil
	}
	w.StartWorker()
	id := w.Accept(ver, 1, fixture.RunOptions{})[0]
	await(t, begun, "code begins")
	if r := w.Stored(id); !slices.Equal(r.Executed(), []workflow.NodeID{"a", "c"}) {
		t.Errorf("stored is %q", r.Executed())
	}
}
