package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

const codeNode = `code {"source": "return 1"}`

// gates hold attempts up until a test lets them end.
type gates struct {
	began chan string // at which node
	ended chan string // of those that were interrupted
	let   map[string]chan struct{}
}

// gated has attempts wait at the gates of their nodes.
func (d *env) gated(ver *workflow.Version) *gates {
	g := &gates{began: make(chan string, 100), ended: make(chan string, 100), let: map[string]chan struct{}{}}
	for _, n := range ver.Graph().Nodes() {
		g.let[string(n.ID)] = make(chan struct{})
	}
	d.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		g.began <- c.NodeID
		select {
		case <-g.let[c.NodeID]:
			return outbound.NodeCompleted{Output: c.NodeID}, nil
		case <-ctx.Done():
			g.ended <- c.NodeID
			return nil, ctx.Err()
		}
	}
	return g
}

// holding is how a worker works that holds for long, or hardly at all.
func holding(opts worker.Options, hold time.Duration) worker.Options {
	opts.Hold = hold
	return opts
}

var (
	codesAndCall      = []string{"a " + codeNode, "b " + codeNode, "c " + fixture.CallNode}
	codesAndCallEdges = []string{"a -> b", "b -> c"}
	codesComputed     = []string{"run.started", "node.started a", "node.completed a", "node.started b", "node.completed b", "node.started c"}
	codesAndCallAll   = append(slices.Clone(codesComputed), "node.completed c", "run.completed")
)

func TestWhatIsComputedIsRecordedBeforeAnythingElseIsDone(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		ver := d.NewVersion(codesAndCall, codesAndCallEdges)
		g := d.gated(ver)
		d.Work(d.NewWorker(d.Store, d.Signals, holding(fixture.WorkerOptions, time.Hour)))
		id := d.Accept(ver, 1, fixture.RunOptions{})[0]
		for _, node := range []string{"a", "b"} {
			await(t, g.began, "code begins")
			if got := d.History(id); len(got) != 0 {
				t.Errorf("while %s is computed, recorded is %v", node, got)
			}
			close(g.let[node])
		}
		await(t, g.began, "the call begins")
		if diff := cmp.Diff(codesComputed, d.History(id)); diff != "" {
			t.Error(diff)
		}
		close(g.let["c"])
		d.Until(id, "the run ends", fixture.Is(run.StatusCompleted))
		if diff := cmp.Diff(codesAndCallAll, d.History(id)); diff != "" {
			t.Error(diff)
		}
	})
}

// Whoever watches a run sees an attempt that takes its time.
func TestWhatIsComputedForLongIsRecordedMeanwhile(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		ver := d.NewVersion(codesAndCall, codesAndCallEdges)
		g := d.gated(ver)
		d.Work(d.NewWorker(d.Store, d.Signals, holding(fixture.WorkerOptions, time.Nanosecond)))
		id := d.Accept(ver, 1, fixture.RunOptions{})[0]
		d.Eventually("its beginning is recorded", func() bool { return slices.Equal(d.History(id), codesComputed[:2]) })
		close(g.let["a"])
		d.Eventually("what it gave is recorded while the next is computed", func() bool { return slices.Equal(d.History(id), codesComputed[:4]) })
		close(g.let["b"])
		close(g.let["c"])
		d.Until(id, "the run ends", fixture.Is(run.StatusCompleted))
		if diff := cmp.Diff([]string{"a 1", "b 1", "c 1"}, d.NodeRunner.Attempts()); diff != "" {
			t.Error(diff)
		}
	})
}

// What a process had computed when it died is computed again by another one, and once recorded.
func TestWhatIsComputedAndNotRecordedIsComputedAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		for _, last := range []string{"a", "b"} {
			ver := d.NewVersion(codesAndCall, codesAndCallEdges)
			g := d.gated(ver)
			d.NodeRunner.Calls = nil
			thaw := make(chan struct{})
			var frozen atomic.Bool
			first := fixture.NewStore(d.Raw)
			first.FailWith(func(ctx context.Context) error {
				if !frozen.Load() {
					return nil
				}
				select {
				case <-thaw:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			stopFirst := d.Work(d.NewWorker(first, d.severed(), holding(fixture.ShortLeaseOptions, time.Hour)))
			id := d.Accept(ver, 1, fixture.RunOptions{})[0]
			want := []string{"a 1"}
			if await(t, g.began, "code begins"); last == "b" {
				g.let["a"] <- struct{}{}
				await(t, g.began, "more code begins")
				want = append(want, "b 1")
			}
			frozen.Store(true)
			stop := d.StartWorker()
			await(t, g.began, "another worker computes it")
			for _, gate := range g.let {
				close(gate)
			}
			r := d.Until(id, "it ends the run", fixture.Is(run.StatusCompleted))
			close(thaw)
			stopFirst()
			stop()
			if diff := cmp.Diff(append(want, "a 1", "b 1", "c 1"), d.NodeRunner.Attempts()); diff != "" {
				t.Error(last, diff)
			}
			if diff := cmp.Diff(codesAndCallAll, d.History(id)); diff != "" || r.Seq() != d.Get(id).Seq() {
				t.Error(last, diff)
			}
		}
	})
}

func TestARunIsCancelledWhileWhatItComputesIsNotRecorded(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		ver := d.NewVersion(codesAndCall, codesAndCallEdges)
		g := d.gated(ver)
		opts := holding(fixture.WorkerOptions, time.Hour)
		opts.Lease = time.Hour
		d.Work(d.NewWorker(d.Store, d.Signals, opts))
		id := d.Accept(ver, 1, fixture.RunOptions{})[0]
		await(t, g.began, "code begins")
		d.Advance(id, run.CancelRequested{})
		d.Signals.Notify(id)
		await(t, g.ended, "it is interrupted")
		if diff := cmp.Diff([]string{"run.cancelled"}, d.History(id)); diff != "" {
			t.Error(diff)
		}
	})
}

// What came from outside is recorded at once, with what was computed before.
func TestWhatACallGaveDoesNotWaitForCode(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		ver := d.NewVersion(codesAndCall, []string{"a -> b"})
		g := d.gated(ver)
		d.Work(d.NewWorker(d.Store, d.Signals, holding(fixture.WorkerOptions, time.Hour)))
		id := d.Accept(ver, 1, fixture.RunOptions{})[0]
		want := []string{"run.started", "node.started a", "node.started c"}
		for range 2 {
			await(t, g.began, "code and call begin")
		}
		if diff := cmp.Diff(want, d.History(id)); diff != "" {
			t.Error(diff)
		}
		close(g.let["a"])
		await(t, g.began, "more code begins")
		close(g.let["c"])
		want = append(want, "node.completed a", "node.started b", "node.completed c")
		d.Eventually("all but the last code is recorded", func() bool { return slices.Equal(d.History(id), want) })
		close(g.let["b"])
		d.Until(id, "the run ends", fixture.Is(run.StatusCompleted))
	})
}

// A run that would be tried alone after the end of its process is recorded at each attempt.
func TestWhatMayEndAProcessIsRecordedBeforeItIsComputed(t *testing.T) {
	t.Parallel()
	nine := make([]string, 9)
	for i := range nine {
		nine[i] = string(rune('a'+i)) + " " + codeNode
	}
	for claim, c := range map[string]struct {
		nodes   []string
		payload string
	}{
		"a large run":             {[]string{"a " + codeNode}, `"` + strings.Repeat("x", 100_000) + `"`},
		"one that computes a lot": {nine, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			d := newEnv(t, fixture.OpenSQLite(t))
			ver := d.NewVersion(c.nodes, nil)
			d.gated(ver)
			d.Work(d.NewWorker(d.Store, d.Signals, holding(fixture.WorkerOptions, time.Hour)))
			id := d.Accept(ver, 1, fixture.RunOptions{Payload: c.payload})[0]
			d.Eventually("its beginning is recorded", func() bool { return len(d.History(id)) == 1+len(c.nodes) })
		})
	}
}

func TestWhatIsComputedAndRefusedIsTriedStepByStep(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		refuse func(times int64, s outbound.RunStep) bool
		ends   run.Status
		want   []string
	}{
		"and recorded so": {
			func(times int64, _ outbound.RunStep) bool { return times == 1 }, run.StatusCompleted, codesAndCallAll,
		},
		"and given up where one of them is refused": {
			func(_ int64, s outbound.RunStep) bool {
				return slices.ContainsFunc(s.History, func(e run.Entry) bool { return e.Type == run.EntryNodeCompleted })
			},
			run.StatusFailed, []string{"run.started", "node.started a", "node.cancelled a", "run.failed"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			d := newEnv(t, fixture.OpenSQLite(t))
			ver := d.NewVersion(codesAndCall, codesAndCallEdges)
			var times atomic.Int64
			d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
				st.Runs.Runs = refusing{st.Runs.Runs, func(s outbound.RunStep) error {
					if c.refuse(times.Add(1), s) {
						return errors.New("the step cannot be kept")
					}
					return nil
				}}
				return st
			}
			d.Work(d.NewWorker(d.Store, d.Signals, holding(fixture.WorkerOptions, time.Hour)))
			id := d.Accept(ver, 1, fixture.RunOptions{})[0]
			d.Until(id, "the run ends", fixture.Is(c.ends))
			if diff := cmp.Diff(c.want, d.History(id)); diff != "" {
				t.Error(diff)
			}
			if made := len(d.NodeRunner.Attempts()); made > 5 {
				t.Errorf("%d attempts were made", made)
			}
		})
	}
}

func TestWhatIsComputedAndWhoseCommitWasInDoubtIsRecordedOnce(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "each commit in doubt is that of a take-over, after which the lease has to end")
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion(codesAndCall, codesAndCallEdges)
	doubtful := &inDoubt{UnitOfWork: d.Store}
	d.Work(d.NewWorker(doubtful, d.Signals, holding(fixture.ShortLeaseOptions, time.Hour)))
	for range 5 {
		id := d.Accept(ver, 1, fixture.RunOptions{})[0]
		d.Until(id, "the run ends", fixture.Is(run.StatusCompleted))
		if diff := cmp.Diff(codesAndCallAll, d.History(id)); diff != "" {
			t.Error(diff)
		}
	}
}
