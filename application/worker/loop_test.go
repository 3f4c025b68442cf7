package worker_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestABodyRunsForEachItem(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.NewVersion([]string{
			`outer transform {"expression": "({ add: 10 })"}`, `each forEach {"items": "payload.list", "concurrency": 2}`,
			`each/twice transform {"expression": "input * 2 + nodes.outer.add + index"}`, `each/give return {"value": "{{ ({ item: item, got: input, of: payload.name }) }}"}`,
			`after transform {"expression": "input.results"}`,
		}, []string{"outer -> each", "twice -> give", "each -> after"})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: `{"list": [1, 2, 3, 4, 5], "name": "n"}`})[0]
		r := w.Until(id, "the run completes", fixture.Finished)
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprintf(`{"got":%d,"item":%d,"of":"n"}`, 2*(i+1)+10+i, i+1))
		}
		if got := gave(r, "after"); got != "["+strings.Join(want, ",")+"]" {
			w.Fatalf("%s gave %s: %+v", r.Status(), got, r.Failure())
		}
		children := w.childrenOf(id)
		slices.SortFunc(children, func(a, b run.Summary) int { return cmp.Compare(*a.Index, *b.Index) })
		if len(children) != 5 || *children[3].Index != 3 || children[3].Cause != run.CauseItem || children[3].ParentNode != "each" {
			w.Fatalf("%d children, %+v", len(children), children)
		}
		w.Same([]string{"run.started", "node.completed outer", "node.waiting each", "node.completed each", "node.completed after", "run.completed"}, w.History(id))
		if !slices.Equal(ids(w.RunsOf(w.Owner)), []run.ID{id}) {
			t.Errorf("runs of items are listed")
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

// each is a version with a node that runs a body for each item of its payload, and what follows.
func (w *env) each(config string, body []string, edges ...string) *workflow.Version {
	w.Helper()
	return w.NewVersion(append([]string{`each forEach {"items": "payload.list"` + config + `}`, `after transform {"expression": "({ got: input })"}`}, body...),
		append([]string{"each -> after"}, edges...))
}

func listOf(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strconv.Itoa(i)
	}
	return `{"list": [` + strings.Join(items, ",") + `]}`
}

// loopResult is what a node gave for its items.
type loopResult struct {
	Count   int
	Results []any
	Failed  []struct {
		Index int
		Error struct{ Code, Message, NodeID string }
	}
}

func (w *env) result(r *run.Run) (got loopResult) {
	w.Helper()
	if err := json.Unmarshal([]byte(gave(r, "each")), &got); err != nil {
		w.Fatalf("%s with %+v gave %s: %v", r.Status(), r.Failure(), gave(r, "each"), err)
	}
	return got
}

// Items fail, wait, are tried again and have loops of their own.
func TestManyItemsRunNoMoreThanSoManyAtATime(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		const most = 7
		const items = 100
		var now, peak, calls atomic.Int64
		var tried sync.Map
		w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
			at := now.Add(1)
			defer now.Add(-1)
			for before := peak.Load(); at > before && !peak.CompareAndSwap(before, at); before = peak.Load() {
			}
			calls.Add(1)
			n, _ := call.Inputs.(json.Number).Int64()
			if _, again := tried.LoadOrStore(n, true); n%10 == 3 && !again {
				return outbound.NodeFailed{Code: "http_503", Message: "Later.", Retryable: true}, nil
			}
			if n%50 == 0 {
				return outbound.NodeFailed{Code: "http_404", Message: "No."}, nil
			}
			return outbound.NodeCompleted{Output: call.Inputs}, nil
		}
		ver := w.each(`, "concurrency": 7, "onItemError": "continue"`, []string{
			"each/call " + fixture.CallNode, `each/rest wait {"delayMs": 20}`, `each/small condition {"condition": "item % 2 == 0"}`,
			`each/inner forEach {"items": "[item, item + 1]", "concurrency": 2}`, `inner/sum transform {"expression": "item + nodes.call"}`,
			`each/give return {"value": "{{ nodes.inner.results }}"}`,
		}, "call -> small", "small.true -> rest", "small.false -> inner", "rest -> inner", "inner -> give")
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(items), Retry: workflow.RetryPolicy{MaxRetries: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}})[0]
		r := w.Until(id, "the run completes", fixture.Finished)
		got := w.result(r)
		if got.Count != items || len(got.Results) != items || len(got.Failed) != items/50 || peak.Load() > most {
			w.Fatalf("%d items, %d results, %d failed, %d at the same time", got.Count, len(got.Results), len(got.Failed), peak.Load())
		}
		for i, result := range got.Results {
			want := fmt.Sprint([]any{float64(2 * i), float64(2*i + 1)})
			if i%50 == 0 {
				want = "<nil>"
			}
			if fmt.Sprint(result) != want {
				t.Errorf("item %d gave %v", i, result)
			}
		}
		if f := got.Failed[1]; f.Index != 50 || f.Error.Code != "http_404" || f.Error.NodeID != "call" {
			t.Errorf("failed is %+v", got.Failed)
		}
		if want := int64(items + items/10); calls.Load() != want {
			t.Errorf("%d calls, not %d", calls.Load(), want)
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatALoopMakesOfItsItems(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct{ items, want, code string }{
		"none gives an empty result at once": {`[]`, `{"count":0,"failed":[],"results":[]}`, ""},
		"null is not an array":               {`null`, "", run.CodeNotArray},
		"too many fail":                      {`"x".padStart(10001, "y").split("")`, "", run.CodeTooManyItems},
		"too large a result fails":           {`[1, 2, 3, 4, 5, 6, 7, 8, 9]`, "", run.CodeResultTooLarge},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			config, _ := json.Marshal(map[string]any{"items": c.items})
			ver := w.NewVersion([]string{"each forEach " + string(config), `each/large transform {"expression": "'x'.repeat(200000)"}`}, nil)
			w.StartWorker()
			r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
			code := ""
			if f := r.Failure(); f != nil {
				code = f.Code
			}
			if code != c.code || gave(r, "each") != c.want {
				t.Errorf("%+v, gave %s", r.Failure(), gave(r, "each"))
			}
		})
	}
}

func TestTheFirstFailureEndsALoopAndARetryRunsTheRest(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		var works atomic.Bool
		var calls sync.Map
		w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
			n, _ := call.Inputs.(json.Number).Int64()
			made, _ := calls.LoadOrStore(n, new(atomic.Int64))
			made.(*atomic.Int64).Add(1)
			if n == 5 && !works.Load() {
				return outbound.NodeFailed{Code: "http_404", Message: "No."}, nil
			}
			return outbound.NodeCompleted{Output: call.Inputs}, nil
		}
		ver := w.each(`, "concurrency": 3`, []string{"each/call " + fixture.CallNode})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(40)})[0]
		r := w.Until(id, "the run fails", fixture.Finished)
		if f := r.Failure(); f == nil || f.Code != run.CodeItemFailed || !strings.Contains(f.Message, "Item 5 failed with http_404") {
			w.Fatalf("%s with %+v", r.Status(), f)
		}
		w.Eventually("all that has begun ends", func() bool {
			return !slices.ContainsFunc(w.childrenOf(id), func(s run.Summary) bool { return !s.Status.Finished() })
		})
		if begun := len(w.childrenOf(id)); begun > 20 {
			t.Errorf("%d have begun", begun)
		}
		works.Store(true)
		if _, err := w.Runs.Retry(w.Context(), w.Caller, domain.IdempotencyKey{}, id); err != nil {
			w.Fatal(err)
		}
		got := w.result(w.Until(id, "the run completes", fixture.Is(run.StatusCompleted)))
		if got.Count != 40 || len(got.Failed) != 0 || got.Results[39] != 39.0 || len(w.childrenOf(id)) != 40 {
			t.Errorf("%+v of %d", got, len(w.childrenOf(id)))
		}
		calls.Range(func(n, made any) bool {
			if times := made.(*atomic.Int64).Load(); times != 1 && times != 2 || n == int64(0) && times != 1 {
				t.Errorf("item %v was called %d times", n, times)
			}
			return true
		})
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

func TestCancellingARunCancelsItsItems(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.each(`, "concurrency": 4`, []string{`each/inner forEach {"items": "[1, 2, 3]", "concurrency": 2}`, `inner/a waitForEvent {"event": "paid"}`})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(30)})[0]
		w.Until(id, "the run is paused", fixture.Is(run.StatusPaused))
		if _, err := w.Runs.Cancel(w.Context(), w.Caller, domain.IdempotencyKey{}, id, "enough"); err != nil {
			w.Fatal(err)
		}
		children := w.childrenOf(id)
		for _, child := range children {
			w.Until(child.ID, "the item is cancelled", fixture.Is(run.StatusCancelled))
			for _, below := range w.childrenOf(child.ID) {
				w.Until(below.ID, "what is below it is", fixture.Is(run.StatusCancelled))
			}
		}
		if after := w.childrenOf(id); len(children) != 4 || len(after) != 4 {
			t.Errorf("%d items have begun, then %d", len(children), len(after))
		}
	})
}

// The clock of a run stands still while all that is under way of its items waits.
func TestALoopIsPausedWhileItsItemsAre(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.each(`, "concurrency": 2`, []string{`each/a waitForEvent {"event": "paid"}`})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(3)})[0]
		for left := 3; left > 0; left-- {
			var waiting []run.Summary
			w.Eventually("two items wait, or one at the end", func() bool {
				waiting = slices.DeleteFunc(w.childrenOf(id), func(s run.Summary) bool { return s.Status != run.StatusPaused })
				return len(waiting) == min(2, left)
			})
			if st := w.Until(id, "the run is paused", fixture.Is(run.StatusPaused)).State(); st.ActiveSince != nil {
				t.Errorf("its time goes on: %+v", st)
			}
			w.Ingest("e-1", run.ResumeOptions{Runs: []run.ID{waiting[0].ID}})
			w.Until(waiting[0].ID, "the item ends", fixture.Finished)
		}
		if got := w.result(w.Until(id, "the run completes", fixture.Finished)); got.Count != 3 || len(got.Failed) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Where the failure of a loop is taken, the run goes on, and what was under way does not.
func TestAFailureOfALoopThatIsTakenCancelsTheOtherItems(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.NewVersion([]string{
			`each forEach {"items": "payload.list"}`, `each/fails condition {"condition": "item == 2"}`, `each/boom transform {"expression": "input.none.none"}`,
			`each/a waitForEvent {"event": "paid"}`, `after waitForEvent {"event": "never"}`,
		}, []string{"fails.true -> boom", "fails.false -> a", "each.onError -> after"})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(4)})[0]
		w.Until(id, "the run goes on", func(r *run.Run) bool { return r.Status() == run.StatusPaused && len(r.Loops()) == 0 })
		for _, child := range w.childrenOf(id) {
			if *child.Index != 2 {
				w.Until(child.ID, "the item is cancelled", fixture.Is(run.StatusCancelled))
			}
		}
	})
}

// An item can be retried by itself while its loop goes on with others.
func TestAnItemThatIsRetriedCountsForItsLoop(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		var works atomic.Bool
		w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
			if works.Load() {
				return outbound.NodeCompleted{Output: json.RawMessage(`"now"`)}, nil
			}
			return outbound.NodeFailed{Code: "http_404", Message: "No."}, nil
		}
		ver := w.each(`, "onItemError": "continue"`, []string{
			`each/first condition {"condition": "index == 0"}`, "each/call " + fixture.CallNode, `each/a waitForEvent {"event": "paid"}`,
		}, "first.true -> call", "first.false -> a")
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(2)})[0]
		w.Until(id, "the run is paused", fixture.Is(run.StatusPaused))
		children := w.childrenOf(id)
		w.Until(children[0].ID, "the first fails", fixture.Is(run.StatusFailed))
		works.Store(true)
		if _, err := w.Runs.Retry(w.Context(), w.Caller, domain.IdempotencyKey{}, children[0].ID); err != nil {
			w.Fatal(err)
		}
		w.Until(children[0].ID, "it completes", fixture.Is(run.StatusCompleted))
		w.Ingest("e-1", run.ResumeOptions{Runs: []run.ID{children[1].ID}})
		if got := w.result(w.Until(id, "the run completes", fixture.Finished)); len(got.Failed) != 0 || got.Results[0] != "now" {
			t.Errorf("%+v", got)
		}
	})
}

func TestALoopGoesOnAfterItsProcessDied(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.each(`, "concurrency": 5`, []string{`each/rest wait {"delayMs": 250}`, `each/give return {"value": "{{ item }}"}`}, "rest -> give")
		runs := w.Accept(ver, 3, fixture.RunOptions{Payload: listOf(20)})
		for _, n := range []int{4, 20, 40, 80} { // of 3 at first and 126 in the end
			stop := w.Work(w.NewWorker(w.Raw, w.Signals, fixture.ShortLeaseOptions))
			w.Eventually("it is some way into it", func() bool { return w.progress() >= n })
			stop()
		}
		w.StartWorker()
		for _, id := range runs {
			if got := w.result(w.Until(id, "the run completes", fixture.Finished)); len(got.Failed) != 0 || got.Results[19] != 19.0 || len(w.childrenOf(id)) != 20 {
				t.Errorf("%+v with %d children", got, len(w.childrenOf(id)))
			}
		}
	})
}

func TestTheRunOfAnItemIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	ver := w.each("", []string{`each/a wait {"delayMs": 0}`})
	w.StartWorker()
	id := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(1)})[0]
	w.Until(id, "the run completes", fixture.Is(run.StatusCompleted))
	_, err := w.Firing.Rerun(w.Context(), w.Caller, domain.IdempotencyKey{}, w.childrenOf(id)[0].ID, run.RerunCall{})
	w.WantCode(err, domain.Conflict, "run_of_item")
	again, err := w.Firing.Rerun(w.Context(), w.Caller, domain.IdempotencyKey{}, id, run.RerunCall{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.result(w.Until(again.ID, "the repetition completes", fixture.Finished)); got.Results[0] != 0.0 || len(w.childrenOf(again.ID)) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestALoopNeedsRoomInTheStorageOfItsTenant(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.each("", []string{`each/one transform {"expression": "item"}`})
		w.SetBudgets(tenant.Budgets{BytesKept: 20_000})
		w.Work(w.NewWorker(w.Store, w.Signals, fixture.WorkerOptions))
		large, small := w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(3000)})[0], w.Accept(ver, 1, fixture.RunOptions{Payload: listOf(5)})[0]
		r := w.Until(large, "the run ends", fixture.Finished)
		if f := r.Failure(); f == nil || f.Code != run.CodeStorageExceeded || len(w.childrenOf(large)) > 0 {
			t.Errorf("it is %s with %+v, and %d items", r.Status(), f, len(w.childrenOf(large)))
		}
		if refused := w.Tally.TakeRefusals(); !refused[w.Owner][tenant.BytesKept] {
			t.Errorf("it is noted that %v was refused", refused)
		}
		if r = w.Until(small, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
			t.Errorf("it is %s with %+v", r.Status(), r.Failure())
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}
