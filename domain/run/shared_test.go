package run_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

// sumPlan is of a run that looks at all of its payload, and sorts what is in it.
func sumPlan(t tester) *run.Plan {
	return plan(t, nodes(expr("sum", "payload.list.sort().map(x => x + payload.one).length"), expr("whole", "payload.list.slice(0, 3)"), `call call {"body": "{{payload.list.length}}"}`),
		edges("sum -> whole", "whole -> call"))
}

const sharedItems = 2000

// alike are runs that were given one payload, in one place of the memory.
func alike(n int) (all []*run.Run) {
	payload := json.RawMessage(`{"one":1,"list":[` + strings.Repeat("3,1,2,", sharedItems/3) + `0]}`)
	for i := range n {
		s := start("")
		s.Payload = payload
		all = append(all, run.New(run.ID(fmt.Sprint(runID, i)), s, noon))
	}
	return all
}

func TestRunsThatShareAPayloadComeToTheSameAsEachWithItsOwn(t *testing.T) {
	p := sumPlan(t)
	want, shared := alike(1)[0], alike(8)
	advance(t, p, want, run.Budget{}, run.Started{})
	run.ReadOnce(shared...)
	var all sync.WaitGroup
	for i, r := range shared {
		all.Go(func() {
			if i%2 == 0 {
				advance(t, p, r, run.Budget{}, run.Started{})
				return
			}
			for more := true; more; more = r.More() { // a node at a time, with the values dropped in between
				var f run.Fact = run.TimeReached{}
				if r.Status() == run.StatusPending {
					f = run.Started{}
				}
				if _, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: f, Budget: run.Budget{Steps: 1}}); err != nil {
					t.Error(err)
				}
				r.Forget()
				runtime.GC()
			}
		})
	}
	all.Wait()
	for _, r := range shared {
		got := r.State()
		got.ID = want.ID()
		if diff := cmp.Diff(want.State().Nodes, got.Nodes); diff != "" {
			t.Error(diff)
		}
		if got, want := r.Demand(run.Budget{}, run.TimeReached{}), want.Demand(run.Budget{}, run.TimeReached{}); got != want {
			t.Errorf("it takes %d bytes, and not %d", got, want)
		}
	}
}

// What is alone measured is the reading: the plan looks at the payload, and computes little.
func TestRunsThatShareAPayloadReadItOnceWhileOneLooksAtIt(t *testing.T) {
	p := plan(t, nodes(expr("first", "payload.list[0]")), edges())
	reads := func(prepare func(...*run.Run)) (allocations float64) {
		all := alike(22)
		prepare(all...)
		advance(t, p, all[0], run.Budget{}, run.Started{})
		next := 1
		allocations = testing.AllocsPerRun(20, func() {
			advance(t, p, all[next], run.Budget{}, run.Started{})
			next++
		})
		runtime.KeepAlive(all)
		return allocations
	}
	if alone := reads(func(...*run.Run) {}); alone < sharedItems {
		t.Fatalf("reading a payload of %d items takes %v allocations", sharedItems, alone)
	}
	if together := reads(run.ReadOnce); together > sharedItems/4 {
		t.Errorf("a run takes %v allocations, though another one has read the payload", together)
	}
}

func TestRunsWithPayloadsOfTheirOwnShareNothing(t *testing.T) {
	p := sumPlan(t)
	a, b := run.New("run_a", start(`{"one":1,"list":[1]}`), noon), run.New("run_b", start(`{"one":1,"list":[2]}`), noon)
	run.ReadOnce(a, b, run.New("run_c", start(""), noon))
	for r, want := range map[*run.Run]string{a: `[1]`, b: `[2]`} {
		advance(t, p, r, run.Budget{}, run.Started{})
		if got, _ := r.Output("whole"); string(got) != want {
			t.Errorf("%s gave %s", r.ID(), got)
		}
	}
}
