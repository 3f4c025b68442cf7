package portstest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// loopFixture is a run with a node that runs its body for each item.
type loopFixture struct {
	fixture
	parent *run.Run
	key    outbound.LoopKey
	ids    []run.ID
	runs   map[run.ID]*run.Run
}

// loop begins with items 10, 11 and so on.
func (f fixture) loop(parent *run.Run, n, concurrency int, failFast bool) *loopFixture {
	f.Helper()
	l := &loopFixture{fixture: f, parent: parent, key: outbound.LoopKey{Tenant: parent.Tenant(), Run: parent.ID(), Node: "each"}, runs: map[run.ID]*run.Run{}}
	start := run.LoopStart{Node: "each", Concurrency: concurrency, FailFast: failFast, Outer: json.RawMessage(`{"o":1}`)}
	for i := range n {
		start.Items = append(start.Items, json.RawMessage(fmt.Sprint(10+i)))
	}
	f.begin(l, start)
	return l
}

// begin begins the loop.
func (f fixture) begin(l *loopFixture, start run.LoopStart) {
	f.Helper()
	fresh := run.ID(newID("run") + "000")
	for i := range start.Items {
		l.ids = append(l.ids, fresh.Item(i))
	}
	f.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Runs.Loops.Begin(ctx, l.parent, start, fresh)
	})
}

// moves counts moves of the loop, starts whose turn it is, and says who that is: those that are
// pending again with an exclamation mark, and a star where the run is woken.
func (l *loopFixture) moves(moves ...outbound.LoopMove) string {
	l.Helper()
	var said []string
	l.write(func(ctx context.Context, st outbound.Stores) error {
		said = nil
		for i := range moves {
			moves[i].Loop = l.key
		}
		turns, err := st.Runs.Loops.Move(ctx, moves...)
		for _, turn := range turns {
			var starts []outbound.ItemStart
			for _, item := range turn.Items {
				if item.Again {
					said = append(said, fmt.Sprint(item.Index, "!"))
					continue
				}
				said = append(said, fmt.Sprint(item.Index))
				r := l.parent.Item(l.key.Node, item.Run, item.Index, noon)
				l.runs[item.Run] = r
				starts = append(starts, outbound.ItemStart{Run: r, Size: item.Size})
			}
			if turn.Woke {
				said = append(said, "*")
			}
			if err == nil && len(starts) > 0 {
				err = st.Runs.Loops.Start(ctx, turn.Payload, starts...)
			}
		}
		return err
	})
	return strings.Join(said, " ")
}

// ends records that an item has ended as a status, and counts that.
func (l *loopFixture) ends(i int, as run.Status) string {
	l.Helper()
	was := run.StatusPending
	r := l.get(i)
	l.mustStep(turned(stepped(r, outbound.RunLease{}, over, func(st *run.State) {
		st.Status = as
		if as == run.StatusFailed {
			st.Failure = &run.Failure{Code: "broken", Message: "It is.", Node: "n"}
		}
	})))
	return l.moves(outbound.LoopMove{Was: was, Is: as})
}

func (l *loopFixture) get(i int) (r *run.Run) {
	l.Helper()
	l.read(func(ctx context.Context, st outbound.Stores) (err error) {
		r, err = st.Runs.Runs.Get(ctx, tenant.All(l.key.Tenant), l.ids[i])
		return err
	})
	return r
}

func (l *loopFixture) wants(claim, want, got string) {
	l.Helper()
	if got != want {
		l.Errorf("%s: %q, not %q", claim, got, want)
	}
}

// ended says what became of items.
func (l *loopFixture) ended(q outbound.EndedItems) string {
	l.Helper()
	var said []string
	l.read(func(ctx context.Context, st outbound.Stores) error {
		if q.Loop = l.key; q.Limit == 0 {
			q.Limit, q.Bytes = 9, 1<<20
		}
		all, err := st.Runs.Loops.Ended(ctx, q)
		for _, o := range all {
			line := fmt.Sprint(o.Index, " ", o.Status)
			if o.Failure != nil {
				line += " " + o.Failure.Code
			}
			said = append(said, line)
		}
		return err
	})
	return strings.Join(said, ", ")
}

func (l *loopFixture) states() (all []run.Loop) {
	l.Helper()
	l.read(func(ctx context.Context, st outbound.Stores) (err error) {
		all, err = st.Runs.Loops.Of(ctx, l.key.Tenant, l.key.Run)
		return err
	})
	return all
}

// RunLoops is the contract of what runs have to do with their items.
func RunLoops(t *testing.T, open OpenStore) {
	loopProgress(t, open)
	repeatedLoops(t, open)
	loopItems(t, open)
}

func loopProgress(t *testing.T, open OpenStore) {
	none := outbound.LoopMove{}
	cases(t, open, map[string]func(f fixture){
		"items begin in their order, as many as may be under way, and the run is woken at the end": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 5, 2, false)
			l.wants("at first", "0 1", l.moves(none))
			l.wants("the second has ended", "2", l.ends(1, run.StatusCompleted))
			l.wants("one goes on", "", l.moves(outbound.LoopMove{Was: run.StatusPending, Is: run.StatusRunning}))
			l.wants("two have ended", "3", l.ends(2, run.StatusFailed))
			l.wants("the first", "4", l.ends(0, run.StatusCompleted))
			f.leases("items that have begun", 9, 9, l.get(3), l.get(4))
			l.wants("one is left", "", l.ends(3, run.StatusCancelled))
			l.wants("all", "*", l.ends(4, run.StatusCompleted))
			f.leases("the run is due", 9, 9, l.parent)
			f.same([]run.Loop{{Node: "each", Count: 5, Next: 5, Concurrency: 2}}, l.states())
			l.wants("what became of them", "0 completed, 1 completed, 2 failed broken, 3 cancelled, 4 completed", l.ended(outbound.EndedItems{}))
			l.wants("from one on", "3 cancelled, 4 completed", l.ended(outbound.EndedItems{From: 3}))
			l.wants("at most so many", "0 completed, 1 completed", l.ended(outbound.EndedItems{Limit: 2, Bytes: 1 << 20}))
			l.wants("at most so large", "1 completed", l.ended(outbound.EndedItems{From: 1, Limit: 9}))
			l.wants("those that failed", "2 failed broken, 3 cancelled", l.ended(outbound.EndedItems{Failed: true, Limit: 9, Bytes: 1 << 20}))
			l.wants("none", "", l.ended(outbound.EndedItems{From: 5}))
		},
		"steps of several items and nodes are counted together": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.loop(f.idle(owner), 4, 3, false), f.loop(f.idle(owner), 3, 1, false)
			a.wants("a", "0 1 2", a.moves(none))
			b.wants("b", "0", b.moves(none))
			end := outbound.LoopMove{Was: run.StatusRunning, Is: run.StatusCompleted}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				var moves []outbound.LoopMove
				for _, l := range []*loopFixture{b, a, a} {
					end.Loop = l.key
					moves = append(moves, end)
				}
				turns, err := st.Runs.Loops.Move(ctx, moves...)
				begun := map[outbound.LoopKey]int{}
				for _, turn := range turns {
					begun[turn.Loop] = len(turn.Items)
				}
				f.same(map[outbound.LoopKey]int{a.key: 1, b.key: 1}, begun)
				return err
			})
		},
		"where the first failure is the end, no other item begins": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 5, 2, true)
			l.moves(none)
			l.wants("one has failed", "*", l.ends(1, run.StatusFailed))
			l.wants("another one ends", "", l.ends(0, run.StatusCompleted))
			f.same([]run.Loop{{Node: "each", Count: 5, Next: 2, Concurrency: 2, FailFast: true, Failed: true}}, l.states())
		},
		"items that nobody waits for are woken, and no other begins": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 5, 2, false)
			l.moves(none)
			f.step(l.get(0), outbound.RunLease{}, waits(nil))
			f.step(l.get(1), outbound.RunLease{}, waits(nil))
			f.leases("nothing is due", 9, 9)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Loops.Leave(ctx, l.parent, "each") })
			if woken := f.claims(outbound.RunClaim{Worker: "worker", Period: time.Minute, Limit: 9, PerTenant: 9}); len(woken) != 2 {
				f.Errorf("%d runs are due", len(woken))
			}
			l.wants("an end", "", l.ends(0, run.StatusCancelled))
			l.wants("the last", "", l.ends(1, run.StatusCancelled))
			if !l.states()[0].Left {
				f.Errorf("it is %+v", l.states())
			}
		},
		"the run is woken when all that is under way is paused, and when one goes on": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 2, 2, false)
			l.moves(none)
			pauses, resumes := outbound.LoopMove{Was: run.StatusRunning, Is: run.StatusPaused}, outbound.LoopMove{Was: run.StatusPaused, Is: run.StatusRunning}
			l.wants("one is paused", "", l.moves(pauses))
			l.wants("both are", "*", l.moves(pauses))
			if !l.states()[0].AllPaused() {
				f.Errorf("it is %+v", l.states())
			}
			l.wants("one goes on", "*", l.moves(resumes))
			l.wants("and ends", "", l.moves(outbound.LoopMove{Was: run.StatusRunning, Is: run.StatusPaused}, resumes))
		},
		"nothing of another tenant is read or counted": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 2, 1, false)
			l.moves(none)
			l.ends(0, run.StatusCompleted)
			other := *l
			other.key.Tenant = f.tenant().ID()
			other.wants("a move", "", other.moves(outbound.LoopMove{Was: run.StatusRunning, Is: run.StatusCompleted}))
			other.wants("ends", "", other.ended(outbound.EndedItems{}))
			if found := other.states(); len(found) != 0 || l.states()[0].Live != 1 {
				f.Errorf("found %+v, and %+v", found, l.states())
			}
		},
	})
}

func repeatedLoops(t *testing.T, open OpenStore) {
	none := outbound.LoopMove{}
	cases(t, open, map[string]func(f fixture){
		"a node that goes on has those begin again that have not completed": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 6, 3, true)
			l.moves(none)
			l.ends(0, run.StatusCompleted)
			l.ends(2, run.StatusFailed)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Loops.Leave(ctx, l.parent, "each") })
			l.ends(1, run.StatusCancelled)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Runs.Loops.Begin(ctx, l.parent, run.LoopStart{Node: "each", Again: true}, "")
			})
			l.wants("item 3 is under way all the same", "1! 2!", l.moves(none))
			r := l.get(2)
			if r.Status() != run.StatusPending || r.Failure() != nil || r.FinishedAt() != nil {
				f.Errorf("it is %+v", r.Summary())
			}
			f.leases("they are due, and the run that was woken before", 9, 9, l.get(3), l.parent, l.get(1), l.get(2))
			l.wants("one ends", "4", l.ends(2, run.StatusCompleted))
			l.wants("and another", "5", l.ends(1, run.StatusCompleted))
		},
		"somebody who retries an item by himself has it count": func(f fixture) {
			l := f.loop(f.idle(f.tenant().ID()), 2, 2, true)
			l.moves(none)
			l.ends(0, run.StatusFailed)
			l.moves(outbound.LoopMove{Was: run.StatusFailed, Is: run.StatusRunning})
			f.same([]run.Loop{{Node: "each", Count: 2, Next: 2, Live: 2, Concurrency: 2, FailFast: true}}, l.states())
		},
		"those that failed are found among many that completed": func(f fixture) {
			const count = 100
			l := f.loop(f.idle(f.tenant().ID()), count, count, false)
			l.moves(none)
			for i := range count {
				status := run.StatusCompleted
				if i == 40 || i == 97 {
					status = run.StatusFailed
				}
				l.ends(i, status)
			}
			l.wants("ends", "40 failed broken, 97 failed broken", l.ended(outbound.EndedItems{Failed: true}))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Runs.Loops.Begin(ctx, l.parent, run.LoopStart{Node: "each", Again: true}, "")
			})
			l.wants("again", "40! 97!", l.moves(none))
		},
	})
}

func loopItems(t *testing.T, open OpenStore) {
	none := outbound.LoopMove{}
	cases(t, open, map[string]func(f fixture){
		"the run of an item has what its parent was started with, the item and what it looks at": func(f fixture) {
			payload := json.RawMessage(`{"a": 1}`)
			parent := f.idle(f.tenant().ID(), func(st *run.State) { st.Payload, st.Entity = payload, "e" })
			l := f.loop(parent, 2, 2, false)
			l.moves(none)
			got := l.get(1)
			want := parent.Item("each", l.ids[1], 1, noon).WithGiven(json.RawMessage(`11`), json.RawMessage(`{"o":1}`)).State()
			f.same(want, got.State())
			f.same(workflow.NodeID("each"), got.Source().Loop)
			found := f.runs(parent.Tenant(), run.Filter{Parent: parent.ID()}, "", 9, 0).Items
			if len(found) != 2 || found[0].Index == nil || found[0].ParentNode != "each" || found[0].Cause != run.CauseItem {
				f.Errorf("listed is %+v", found)
			}
			leased := f.leases("both", 9, 9, l.get(0), l.get(1))
			for _, one := range leased {
				f.same(l.get(*one.Run.Summary().Index).State(), one.Run.State())
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				outline, err := st.Runs.Origins.Of(ctx, tenant.All(parent.Tenant()), l.ids[1])
				f.same(got.Source(), outline.Source)
				if outline.Size < int64(len(payload)+len(`11`)+len(`{"o":1}`)) {
					f.Errorf("it takes %d bytes", outline.Size)
				}
				return err
			})
		},
		"what items share is read once for those that are claimed together": func(f fixture) {
			owner := f.tenant().ID()
			having := func(text string) *loopFixture {
				return f.loop(f.idle(owner, func(st *run.State) { st.Payload = json.RawMessage(text) }), 3, 3, false)
			}
			for _, l := range []*loopFixture{having(`{"a": 1}`), having(`{"a": 2}`)} {
				l.moves(none)
			}
			payloads, outer := map[*byte]string{}, map[*byte]string{}
			for _, one := range f.claims(outbound.RunClaim{Worker: "worker", Period: time.Minute, Limit: 9, PerTenant: 9}) {
				st := one.Run.State()
				payloads[&st.Payload[0]] += string(st.Payload[len(st.Payload)-2])
				outer[&st.Outer[0]] += string(st.Outer)
			}
			f.same([]string{"111", "222"}, slices.Sorted(maps.Values(payloads)))
			f.same([]string{strings.Repeat(`{"o":1}`, 3), strings.Repeat(`{"o":1}`, 3)}, slices.Sorted(maps.Values(outer)))
		},
		"items stay while their parent has not ended, and go with it": func(f fixture) {
			owner := f.tenant().ID()
			parent := f.idle(owner, func(st *run.State) { st.CreatedAt = noon.Add(-time.Hour) })
			l := f.loop(parent, 3, 3, false)
			l.moves(none)
			for i := range 3 {
				l.ends(i, run.StatusCompleted)
			}
			if n := f.sweep(owner, 9); n != 0 {
				f.Errorf("%d runs are removed", n)
			}
			f.step(parent, outbound.RunLease{}, over)
			if n := f.sweep(owner, 9); n != 4 || len(l.states()) != 0 {
				f.Errorf("%d runs are removed, left is %+v", n, l.states())
			}
			if kept := f.kept(owner); kept != 0 {
				f.Errorf("%d bytes are kept of nothing", kept)
			}
		},
		"each item is kept as it is": func(f fixture) {
			texts := []string{`null`, `1.0`, `1e400`, `-0`, `123456789012345678901234567890`, `"\u0000\ud800é"`, `{"b":1,"a":[{"a":2}],"b":3}`, `[]`, strings.Repeat("[", 500) + strings.Repeat("]", 500)}
			for len(texts) < 40 {
				texts = append(texts, fmt.Sprintf(`{"i":%d}`, len(texts)))
			}
			l := &loopFixture{fixture: f, parent: f.idle(f.tenant().ID()), runs: map[run.ID]*run.Run{}}
			l.key = outbound.LoopKey{Tenant: l.parent.Tenant(), Run: l.parent.ID(), Node: "each"}
			start := run.LoopStart{Node: "each", Concurrency: len(texts)}
			for _, text := range texts {
				start.Items = append(start.Items, json.RawMessage(text))
			}
			f.begin(l, start)
			l.moves(none)
			for i, text := range texts {
				want := l.parent.Item("each", l.ids[i], i, noon).WithGiven(json.RawMessage(text), nil).State()
				f.same(want, l.get(i).State())
			}
		},
		"many items, and large ones, are kept": func(f fixture) {
			parent := f.idle(f.tenant().ID())
			start := run.LoopStart{Node: "each", Concurrency: 1}
			for i := range 2500 {
				text := fmt.Sprint(i)
				if i%1000 == 0 {
					text = `"` + strings.Repeat("x", 700<<10) + `"`
				}
				start.Items = append(start.Items, json.RawMessage(text))
			}
			l := &loopFixture{fixture: f, parent: parent, key: outbound.LoopKey{Tenant: parent.Tenant(), Run: parent.ID(), Node: "each"}, runs: map[run.ID]*run.Run{}}
			f.begin(l, start)
			l.wants("the first", "0", l.moves(none))
			if got := l.get(0); got.Size() < 700<<10 {
				f.Errorf("it takes %d bytes", got.Size())
			}
			f.same([]run.Loop{{Node: "each", Count: 2500, Next: 1, Live: 1, Concurrency: 1}}, l.states())
		},
	})
}
