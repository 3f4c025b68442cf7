package batch_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/ports/inbound"
)

// harness is a batcher whose commits wait until they are let go on.
type harness struct {
	*testing.T
	*batch.Batcher[int]
	mu      sync.Mutex
	batches [][]int
	goOn    chan func() error // what a commit does in the end
	errs    sync.Map          // of the members that have returned
}

func newHarness(t *testing.T, limits batch.Limits, weigh func(int) int) *harness {
	h := &harness{T: t, goOn: make(chan func() error)}
	h.Batcher = batch.New(limits, weigh, func(_ context.Context, members []int) error {
		h.mu.Lock()
		h.batches = append(h.batches, members)
		h.mu.Unlock()
		return (<-h.goOn)()
	})
	return h
}

// arrive brings members, one after another.
func (h *harness) arrive(ctx context.Context, members ...int) {
	for _, member := range members {
		go func() {
			ended := false
			defer func() {
				if !ended {
					h.errs.Store(member, "its goroutine has ended")
				}
			}()
			err := h.Do(ctx, member)
			ended = true
			h.errs.Store(member, fmt.Sprint(err))
		}()
		synctest.Wait()
	}
}

// finish lets the batch go on that has waited longest.
func (h *harness) finish(with func() error) {
	h.goOn <- with
	synctest.Wait()
}

func (h *harness) want(what string, batches ...[]int) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !reflect.DeepEqual(h.batches, batches) {
		h.Errorf("%s: the batches are %v, not %v", what, h.batches, batches)
	}
}

func (h *harness) wantErr(want string, members ...int) {
	h.Helper()
	for _, member := range members {
		if got, _ := h.errs.Load(member); got != want {
			h.Errorf("member %d got %v, not %s", member, got, want)
		}
	}
}

func well() error { return nil }

func TestThoseThatArriveWhileABatchRunsGoTogetherInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, batch.Limits{Members: 3, Running: 1}, nil)
		h.arrive(t.Context(), 1, 2, 3, 4, 5)
		h.want("at first", []int{1})
		h.finish(well)
		h.want("then", []int{1}, []int{2, 3, 4})
		h.wantErr("<nil>", 1)
		h.finish(func() error { return errors.New("refused") })
		h.want("and then", []int{1}, []int{2, 3, 4}, []int{5})
		h.wantErr("refused", 2, 3, 4)
		h.finish(well)
		h.wantErr("<nil>", 5)
		h.arrive(t.Context(), 6)
		h.want("in the end", []int{1}, []int{2, 3, 4}, []int{5}, []int{6})
		h.finish(well)
	})
}

func TestABatchIsBoundedByWeightUnlessItHasOneMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, batch.Limits{Members: 9, Weight: 10, Running: 1}, func(member int) int { return member })
		h.arrive(t.Context(), 99, 3, 7, 1, 50, 2)
		want := [][]int{{99}, {3, 7}, {1}, {50}, {2}}
		for i := range want {
			h.want("so far", want[:i+1]...)
			h.finish(well)
		}
	})
}

func TestBatchesRunBesideOneAnotherAsLimitsSay(t *testing.T) {
	for claim, c := range map[string]struct {
		limits batch.Limits
		want   [][]int
	}{
		"as many as may":                     {batch.Limits{Members: 9, Running: 2}, [][]int{{1}, {2}}},
		"a further one only when it is full": {batch.Limits{Members: 9, Running: 2, MinWhenBusy: 3}, [][]int{{1}, {2, 3, 4}}},
		"full is what fits":                  {batch.Limits{Members: 2, Running: 2, MinWhenBusy: 3}, [][]int{{1}, {2, 3}}},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, c.limits, nil)
				h.arrive(t.Context(), 1, 2, 3, 4, 5, 6)
				h.want("at first", c.want...)
				for range 6 {
					select {
					case h.goOn <- well:
						synctest.Wait()
					default:
					}
				}
				h.wantErr("<nil>", 1, 2, 3, 4, 5, 6)
			})
		})
	}
}

func TestAMemberLeavesWhenItsContextEndsUnlessItsBatchHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, batch.Limits{Members: 9, Running: 1}, nil)
		ctx, leave := context.WithCancel(t.Context())
		h.arrive(ctx, 1)
		h.arrive(t.Context(), 2)
		h.arrive(ctx, 3)
		h.arrive(t.Context(), 4)
		leave()
		synctest.Wait()
		h.wantErr("context canceled", 3)
		if _, returned := h.errs.Load(1); returned {
			t.Error("the one whose batch runs has left")
		}
		h.finish(well)
		h.want("without the one that has left", []int{1}, []int{2, 4})
		h.wantErr("<nil>", 1)
		h.arrive(ctx, 5)
		h.wantErr("context canceled", 5)
		h.finish(well)
		h.wantErr("<nil>", 2, 4)
		h.arrive(t.Context(), 6)
		h.want("nobody was left behind", []int{1}, []int{2, 4}, []int{6})
		h.finish(well)
	})
}

// The context of who commits ends, with its values, deadline and all, for itself alone.
func TestACommitHasTheValuesOfAContextAndADeadlineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var ended error
		b := batch.New(batch.Limits{Members: 1, Running: 1, Timeout: time.Minute}, nil, func(ctx context.Context, _ []int) error {
			if ctx.Value(key{}) != "value" {
				t.Error("the value is lost")
			}
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != time.Minute {
				t.Errorf("it ended after %s", took)
			}
			ended = ctx.Err()
			return ended
		})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Second)
		defer cancel()
		if err := b.Do(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(ended, context.DeadlineExceeded) {
			t.Error(err, ended)
		}
	})
}

func TestAPanicIsAnErrorForAllAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, batch.Limits{Members: 2, Running: 1}, nil)
		h.arrive(t.Context(), 1, 2, 3, 4)
		h.finish(func() error { panic("broken") })
		h.wantErr("commit a batch: panic: broken", 1)
		h.finish(func() error { panic("again") })
		h.wantErr("commit a batch: panic: again", 2, 3)
		h.finish(func() error { runtime.Goexit(); return nil })
		h.wantErr("its goroutine has ended", 4)
		h.arrive(t.Context(), 5, 6, 7, 8)
		h.want("it goes on", []int{1}, []int{2, 3}, []int{4}, []int{5})
		h.finish(func() error { runtime.Goexit(); return nil })
		h.finish(func() error { runtime.Goexit(); return nil })
		h.wantErr("its goroutine has ended", 5, 6)
		h.wantErr("the batch ended before it was committed", 7)
		h.finish(well)
		h.wantErr("<nil>", 8)
	})
	b := batch.New(batch.Limits{Members: 1, Running: 1}, nil, func(context.Context, []int) error { panic("broken") })
	if err := b.Do(t.Context(), 1); !inbound.IsPanic(err) {
		t.Error(err)
	}
}

// Many at once, of which some leave and some panic: each member that was not taken out is
// committed once, no bound is exceeded, and in the end nothing is left.
func TestUnderLoadNobodyIsLostNorCommittedTwice(t *testing.T) {
	limits := batch.Limits{Members: 8, Weight: 30, Running: 3, MinWhenBusy: 4}
	var running atomic.Int32
	committed := make([]atomic.Int32, 3000)
	b := batch.New(limits, func(member int) int { return member % 7 }, func(_ context.Context, members []int) error {
		if n := running.Add(1); int(n) > limits.Running {
			t.Errorf("%d are running", n)
		}
		defer running.Add(-1)
		weight := 0
		for _, member := range members {
			weight += member % 7
			committed[member].Add(1)
		}
		if len(members) > limits.Members || weight > limits.Weight {
			t.Errorf("a batch has %d members of weight %d", len(members), weight)
		}
		runtime.Gosched()
		if members[0]%11 == 0 {
			panic("broken")
		}
		return nil
	})
	var all sync.WaitGroup
	for member := range committed {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if member%5 == 0 {
				go cancel()
			}
			err := b.Do(ctx, member)
			want := int32(1)
			if errors.Is(err, context.Canceled) {
				want = 0
			} else if err != nil && !inbound.IsPanic(err) {
				t.Error(err)
			}
			if n := committed[member].Load(); n != want {
				t.Errorf("member %d was committed %d times: %v", member, n, err)
			}
		})
	}
	all.Wait()
	if err := b.Do(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// A batch that is refused harms no member but the one that is refused by itself, too.
func TestMembersOfARefusedBatchAreCommittedOneByOneWhereThatIsAskedFor(t *testing.T) {
	refused := errors.New("refused")
	for claim, c := range map[string]struct {
		refuse func() error
		want   [4]string
	}{
		"an error": {func() error { return refused }, [4]string{1: "<nil>", 2: "refused", 3: "<nil>"}},
		"a panic":  {func() error { panic("broken") }, [4]string{1: "<nil>", 2: "commit a batch: panic: broken", 3: "<nil>"}},
		"an error for which it is not": {
			func() error { return context.DeadlineExceeded },
			[4]string{1: "context deadline exceeded", 2: "context deadline exceeded", 3: "context deadline exceeded"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, batch.Limits{Members: 9, Running: 1, RetryAlone: func(err error) bool { return !errors.Is(err, context.DeadlineExceeded) }}, nil)
				h.arrive(t.Context(), 0, 1, 2, 3)
				h.finish(well)
				h.finish(c.refuse)
				if _, ended := h.errs.Load(1); !ended { // none is told before all are done with
					for _, with := range []func() error{well, c.refuse, well} {
						h.wantErr("<nil>", 0)
						h.finish(with)
					}
					h.want("one by one", []int{0}, []int{1, 2, 3}, []int{1}, []int{2}, []int{3})
				}
				for member, want := range c.want {
					if member > 0 {
						h.wantErr(want, member)
					}
				}
			})
		})
	}
}

func TestThoseThatArriveTogetherGoTogetherFromTheFirstOn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that all of them arrive before the first begins
	var commits, members int
	b := batch.New(batch.Limits{Members: 64, Running: 2}, nil, func(_ context.Context, batch []int) error {
		commits, members = commits+1, members+len(batch)
		return nil
	})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { _ = b.Do(t.Context(), i) })
	}
	all.Wait()
	if members != 16 || commits > 8 { // several where the scheduler took the processor away in between
		t.Errorf("%d of 16 members were committed, in %d batches", members, commits)
	}
}
