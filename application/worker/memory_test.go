package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// parallel are nodes that call at the same time.
func parallel(n int, config string) (nodes []string) {
	for i := range n {
		nodes = append(nodes, fmt.Sprintf(`n%d httpRequest %s`, i, config))
	}
	return nodes
}

// gauge counts how many do something at the same time.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}
}

func TestARunMakesABoundedNumberOfCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	var calls gauge
	all := make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, _ outbound.NodeCall) (outbound.NodeOutcome, error) {
		defer calls.enter()()
		calls.mu.Lock()
		full := calls.now == 32
		calls.mu.Unlock()
		if full {
			select {
			case <-all: // already closed
			default:
				close(all)
			}
		}
		select {
		case <-all:
		case <-ctx.Done():
		}
		return outbound.NodeCompleted{}, ctx.Err()
	}
	id := w.Accept(w.NewVersion(parallel(100, `{"url": "https://example.com/"}`), nil), 1, fixture.RunOptions{})[0]
	w.StartWorker()
	if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted || calls.most != 32 || len(w.NodeRunner.Attempts()) != 100 {
		t.Errorf("it is %s after %d calls, at most %d at the same time", r.Status(), len(w.NodeRunner.Attempts()), calls.most)
	}
}

// What calls send is computed when they are made, where it is large.
func TestLargeRequestsAreBuiltWhenTheyAreSent(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	const n = 40
	payload := `{"text": "` + strings.Repeat("x", 50_000) + `", "list": [` + strings.Repeat(`{"a":1},`, 500) + `0]}`
	nodes := parallel(n, `{"url": "https://example.com/", "method": "POST", "body": {"all": "{{ payload }}", "n": "{{ payload.list.length }}"}}`)
	id := w.Accept(w.NewVersion(nodes, nil), 1, fixture.RunOptions{Payload: payload})[0]
	w.StartWorker()
	w.Until(id, "the run completes", fixture.Is(run.StatusCompleted))
	seen := map[string]bool{}
	for _, c := range w.NodeRunner.Calls {
		body, _ := json.Marshal(c.Config["body"])
		if len(body) < 50_000 || !strings.HasSuffix(string(body), `,"n":501}`) {
			t.Errorf("%s sends %.60s… of %d bytes", c.NodeID, body, len(body))
		}
		seen[c.NodeID] = true
	}
	if len(seen) != n || len(w.NodeRunner.Calls) != n {
		t.Errorf("%d calls of %d nodes", len(w.NodeRunner.Calls), len(seen))
	}
}

// A run that gets memory of its own waits for no call of others, who may wait for that memory.
func TestCallsAndLargeAnswersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.Memory.Calls = budget.New(4 << 20)   // three calls of a tenant
	w.Memory.Growing = budget.New(8 << 20) // one run of a tenant
	began := make(chan string, 100)
	let := map[string]chan struct{}{}
	for _, n := range []string{"n0", "m", "n1", "b1", "b2", "b3"} {
		let[n] = make(chan struct{})
	}
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- c.NodeID
		select {
		case <-let[c.NodeID]:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if c.NodeID == "n0" || c.NodeID[0] == 'b' {
			if err := c.ReserveMemory(ctx, 100_000); err != nil {
				return nil, err
			}
		}
		return outbound.NodeCompleted{}, nil
	}
	const call = ` httpRequest {"url": "https://example.com/"}`
	first := w.Accept(w.NewVersion([]string{"n0" + call, "m" + call, "n1" + call}, []string{"m -> n1"}), 1, fixture.RunOptions{})[0]
	w.StartWorker()
	await(t, began, "a call of the first run")
	await(t, began, "another one")
	second := w.Accept(w.NewVersion([]string{"b1" + call, "b2" + call, "b3" + call}, nil), 1, fixture.RunOptions{})[0]
	await(t, began, "a call of the second run, which takes the last place")
	close(let["m"])
	await(t, began, "another one of it, where m was")
	w.Eventually("n1 and the third one wait for a place", func() bool { return w.Memory.Calls.Waiting() == 2 })
	close(let["n0"])
	await(t, began, "the next call")
	for _, n := range []string{"n1", "b1", "b2", "b3"} {
		close(let[n])
	}
	w.Until(first, "the first run completes", fixture.Is(run.StatusCompleted))
	w.Until(second, "the second run completes", fixture.Is(run.StatusCompleted))
}

// One tenant's calls take the memory that is its share. Another tenant's go on.
func TestATenantsCallsHaveAShareOfTheMemory(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.Memory.Calls = budget.New(4 << 20) // of which a tenant has room for four
	flood := w.Owner
	began, let := make(chan tenant.ID, 100), make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- c.Tenant
		if c.Tenant == flood {
			select {
			case <-let:
			case <-ctx.Done():
			}
		}
		return outbound.NodeCompleted{}, ctx.Err()
	}
	w.StartWorker()
	many := w.Accept(w.NewVersion(parallel(20, `{"url": "https://example.com/"}`), nil), 1, fixture.RunOptions{})[0]
	for range 3 {
		await(t, began, "the calls begin")
	}
	w.Owner = w.NewTenant()
	other := w.Accept(w.NewVersion(parallel(3, `{"url": "https://example.com/"}`), nil), 1, fixture.RunOptions{})[0]
	w.Until(other, "the other tenant's run completes", fixture.Is(run.StatusCompleted))
	w.Owner = flood
	if n := w.Memory.Calls.Used(); n > 2<<20 {
		t.Errorf("the calls hold %d bytes", n)
	}
	if got := w.NodeRunner.Attempts(); len(got) > 3+3 {
		t.Errorf("the tenant has %d calls under way, and its share is for three", len(got)-3)
	}
	close(let)
	w.Until(many, "the calls of the first are made as well", fixture.Is(run.StatusCompleted))
}

// A run that gets a large answer has memory for its results from then on until it is recorded.
func TestARunWithALargeAnswerHasMemoryUntilItIsRecorded(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	answered, gate := make(chan struct{}), make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		if err := errors.Join(c.ReserveMemory(ctx, 1000), c.ReserveMemory(ctx, 3000)); err != nil {
			return nil, err
		}
		w.Store.FailWith(func(context.Context) error {
			close(answered)
			<-gate
			w.Store.FailWith(nil)
			return nil
		})
		return outbound.NodeCompleted{Output: json.RawMessage(`{"b":1,"a":2}`)}, nil
	}
	id := w.Accept(w.NewVersion(parallel(1, `{"url": "https://example.com/"}`), nil), 1, fixture.RunOptions{})[0]
	w.StartWorker()
	await(t, answered, "the answer is about to be recorded")
	if used := w.Memory.Growing.Used(); used != 3<<20 {
		t.Errorf("%d bytes are reserved", used)
	}
	close(gate)
	r := w.Until(id, "the run completes", fixture.Is(run.StatusCompleted))
	if got, _ := r.Output("n0"); string(got) != `{"a":2,"b":1}` {
		t.Errorf("it gave %s", got)
	}
	w.Eventually("the memory is given back", func() bool { return w.Memory.Growing.Used() == 0 })
}

// lose claims what is free as a worker that ends at once.
func (d *env) lose(name string, alone bool) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: name, Limit: 9, PerTenant: 9})
		for _, l := range leased {
			if alone {
				err = errors.Join(err, st.Runs.Queue.MarkIsolated(ctx, l.Lease))
			}
		}
		return err
	})
}

// notedAlone counts the runs that are noted to be tried alone.
type notedAlone struct {
	outbound.RunQueue
	noted *sync.Map
}

func (q notedAlone) MarkIsolated(ctx context.Context, lease outbound.RunLease) error {
	q.noted.Store(lease.Run, true)
	return q.RunQueue.MarkIsolated(ctx, lease)
}

// Runs that a process worked on when it ended are tried alone, if they are large or make
// many calls: one of them may be the reason.
func TestRunsWhoseProcessEndedAreTriedAlone(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	var noted sync.Map
	w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Queue = notedAlone{st.Runs.Queue, &noted}
		return st
	}
	ver := w.NewVersion(parallel(1, `{"url": "https://example.com/"}`), nil)
	large := w.Accept(ver, 3, fixture.RunOptions{Payload: `"` + strings.Repeat("x", 100_000) + `"`})
	small := w.Accept(ver, 3, fixture.RunOptions{})
	w.lose("lost", false)
	w.StartWorker()
	for _, id := range slices.Concat(large, small) {
		w.Until(id, "each completes", fixture.Is(run.StatusCompleted))
		if _, alone := noted.Load(id); alone != slices.Contains(large, id) {
			t.Errorf("of the large runs %v, that %s is tried alone is %v", large, id, alone)
		}
	}
}

func TestARunThatEndsItsProcessASecondTimeFails(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		id := w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{Payload: `"` + strings.Repeat("x", 100_000) + `"`})[0]
		w.lose("first", false)
		w.lose("second", true)
		w.StartWorker()
		r := w.Until(id, "the run fails", fixture.Is(run.StatusFailed))
		if f := r.Failure(); f.Code != run.CodeExhaustedMemory || len(w.NodeRunner.Attempts()) != 0 {
			t.Errorf("it failed with %+v", f)
		}
		if got := w.History(id); !slices.Equal(got, []string{"run.failed"}) {
			t.Errorf("its history is %v", got)
		}
	})
}

// A run that computes for long notices that its worker is to stop, that it was cancelled and
// that its time is over, long before it has computed everything.
func TestARunThatComputesForLongIsInterrupted(t *testing.T) {
	t.Parallel()
	const heavy = 8000 // nodes, each of which uses most of what an expression may
	var nodes, edges []string
	for i := range heavy {
		nodes = append(nodes, fmt.Sprintf(`n%d transform {"expression": "payload.map(x => x + 1).reduce((a, b) => a + b, 0)"}`, i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf("n%d -> n%d", i-1, i))
		}
	}
	payload := "[" + strings.Repeat("1,", 9_000) + "1]"
	for claim, interrupt := range map[string]func(w *env, id run.ID, stop func()){
		"by a worker that stops": func(_ *env, _ run.ID, stop func()) { stop() },
		"by the end of its time": func(w *env, id run.ID, _ func()) {
			r := w.Until(id, "it fails", fixture.Is(run.StatusFailed))
			if f := r.Failure(); f.Code != run.CodeTimeout {
				w.Errorf("it failed with %+v", f)
			}
		},
		"by a cancel": func(w *env, id run.ID, _ func()) {
			w.Do(func(ctx context.Context, st outbound.Stores) error {
				r, err := st.Runs.Runs.Get(ctx, tenant.All(w.Owner), id)
				if err != nil {
					return err
				}
				from := r.Seq()
				step := r.Abandon(time.Now(), "enough")
				return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
			})
			w.Signals.Notify(id)
			w.Until(id, "it stays cancelled", fixture.Is(run.StatusCancelled))
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			ver := w.NewVersion(nodes, edges)
			start := fixture.RunOptions{Payload: payload}
			if claim == "by the end of its time" {
				start.Timeout = time.Second
			}
			id := w.Accept(ver, 1, start)[0]
			stop := w.StartWorker()
			w.Until(id, "it has begun to compute", func(r *run.Run) bool { return len(r.Executed()) > 0 })
			interrupt(w, id, stop)
			stop()
			most := heavy / 16 // of a node or two every few milliseconds: not many come after an interrupt
			if start.Timeout > 0 {
				most = heavy - 1
			}
			if done := len(w.Get(id).Executed()); done == 0 || done > most {
				t.Errorf("%d of %d nodes were computed", done, heavy)
			}
		})
	}
}
