package portstest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	listchange "github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ListStore is a store that reports what changes in lists.
type ListStore interface {
	outbound.UnitOfWork
	outbound.ListChanges
}

// OpenLists opens an empty store of a process that is alone, which ends with the test.
type OpenLists func(t *testing.T) ListStore

// OpenListsTwice opens an empty store twice, as two processes have it that are notified of each
// other. Both end with the test.
type OpenListsTwice func(t *testing.T) (here, there ListStore)

// ListRecorder records what is reported of lists.
type ListRecorder struct {
	mu      sync.Mutex
	changes []listchange.Change
	lost    int
}

// RecordLists follows the lists of a tenant until stop is called, or the test ends.
func RecordLists(t *testing.T, from outbound.ListChanges, owner tenant.ID) (r *ListRecorder, stop func()) {
	t.Helper()
	r = &ListRecorder{}
	stop = sync.OnceFunc(from.FollowLists(owner, r.record))
	t.Cleanup(stop)
	return r, stop
}

func (r *ListRecorder) record(changes []listchange.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes = append(r.changes, changes...); len(changes) == 0 {
		r.lost++
	}
}

// Take returns what was reported since it was called last, and how often changes were lost.
func (r *ListRecorder) Take() (changes []listchange.Change, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, lost = r.changes, r.lost
	r.changes, r.lost = nil, 0
	return changes, lost
}

// listFixture follows the lists of a tenant.
type listFixture struct {
	webhooks
	lists ListStore
	owner tenant.ID
	heard *ListRecorder
}

// reported checks what was reported, and that nothing was lost.
func (f listFixture) reported(what string, want ...listchange.Change) {
	f.Helper()
	got, lost := f.heard.Take()
	if diff := cmp.Diff(want, got); diff != "" || lost > 0 {
		f.Errorf("%s: lost %d times, %s", what, lost, diff)
	}
}

// ListChanges is the contract of outbound.ListChanges; twice is nil where processes are not notified of each other.
func ListChanges(t *testing.T, open OpenLists, twice OpenListsTwice) {
	for claim, check := range map[string]func(f listFixture){
		"runs that begin and turn, and nodes that wait for somebody": listsOfRuns,
		"items that go on": listsOfItems,
		"versions, and all lists when a workflow goes": listsOfVersions,
		"deliveries, and whose they are":               listsOfDeliveries,
		"nothing of others, of failed units, or after the end": func(f listFixture) {
			other, second := f.tenant().ID(), &ListRecorder{}
			stop := f.lists.FollowLists(f.owner, second.record)
			f.started(other)
			gone := errors.New("gone")
			if err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Runs.Start(ctx, pending(f.owner))
				return errors.Join(err, gone)
			}); !errors.Is(err, gone) {
				f.Fatal(err)
			}
			stop()
			r := f.started(f.owner)
			f.reported("who goes on", listchange.OfRun(r, listchange.Created))
			if got, lost := second.Take(); len(got) > 0 || lost > 0 {
				f.Errorf("who has left hears %v, lost %d times", got, lost)
			}
		},
		"a unit under way when somebody begins to follow is made up for": func(f listFixture) {
			late := f.tenant().ID()
			heard := &ListRecorder{}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Runs.Start(ctx, pending(late))
				f.Cleanup(f.lists.FollowLists(late, heard.record))
				return err
			})
			if got, lost := heard.Take(); len(got) > 0 || lost != 1 {
				f.Errorf("%v, lost %d times", got, lost)
			}
			f.reported("who followed before")
		},
		"many follow, change and leave at the same time": func(f listFixture) {
			var done sync.WaitGroup
			for range 8 {
				done.Go(func() {
					_, stop := RecordLists(f.T, f.lists, f.owner)
					f.started(f.owner)
					stop()
				})
			}
			done.Wait()
			if got, _ := f.heard.Take(); len(got) != 8 {
				f.Errorf("heard %v", got)
			}
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			here := open(t)
			f := listFixture{webhooks: newWebhooks(fixture{t, here}), lists: here}
			f.owner = f.tenant().ID()
			f.heard, _ = RecordLists(t, here, f.owner)
			check(f)
		})
	}
	if twice == nil {
		return
	}
	t.Run("other processes report what is followed somewhere else", func(t *testing.T) {
		t.Parallel()
		here, there := twice(t)
		listsBetweenProcesses(t, fixture{t, here}, there)
	})
}

func listsOfRuns(f listFixture) {
	r := f.started(f.owner, func(st *run.State) { st.SubTenant, st.Parent = "team", "run_parent" })
	created := listchange.Change{Tenant: f.owner, SubTenant: "team", Kind: listchange.Run, Operation: listchange.Created, ID: string(r.ID()), Workflow: "wf_1", Parent: "run_parent"}
	f.reported("a new run", created)
	same := func(st *run.State) { st.DedupeKey, st.Trigger = "same", "trg_1" }
	f.starts(pending(f.owner, same), pending(f.owner, same))
	if got, _ := f.heard.Take(); len(got) != 1 {
		f.Errorf("of runs of which one is added: %v", got)
	}
	s := stepped(r, outbound.RunLease{}, awaits("paid", "-"))
	if err := f.tryStep(s); err != nil {
		f.Fatal(err)
	}
	f.reported("a step that lists do not show")
	s = stepped(s.Run, outbound.RunLease{})
	s.History = []run.Entry{{Seq: 8, Type: run.EntryNodeWaiting, Node: "n0"}, {Seq: 9, Type: run.EntryNodeWaiting, Node: "n1"}, {Seq: 10, Type: run.EntryRunPaused}}
	if err := f.tryStep(s); err != nil {
		f.Fatal(err)
	}
	turned, pause := created, created
	turned.Operation, pause.Kind, pause.Node = listchange.Changed, listchange.Pause, "n0"
	f.reported("a run that pauses", pause, turned)
	s = stepped(s.Run, outbound.RunLease{})
	s.History = []run.Entry{{Seq: 11, Type: run.EntryNodeCompleted, Node: "n0"}}
	if err := f.tryStep(s); err != nil {
		f.Fatal(err)
	}
	pause.Operation = listchange.Deleted
	f.reported("a node that goes on", pause)
}

func listsOfItems(f listFixture) {
	parent := f.started(f.owner, func(st *run.State) { st.SubTenant = "team" })
	l := f.loop(parent, 1, 1, false)
	l.moves(outbound.LoopMove{})
	item := listchange.Change{
		Tenant: f.owner, SubTenant: "team", Kind: listchange.Run, Operation: listchange.Created, ID: string(l.ids[0]), Workflow: parent.Workflow(), Parent: parent.ID(),
	}
	f.reported("an item that begins", listchange.OfRun(parent, listchange.Created), item)
	l.ends(0, run.StatusFailed)
	f.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Runs.Loops.Begin(ctx, parent, run.LoopStart{Node: "each", Again: true}, "")
	})
	l.moves(outbound.LoopMove{})
	item.Operation = listchange.Changed
	f.reported("an item that is pending again", item)
}

func listsOfVersions(f listFixture) {
	wf := f.workflow(f.owner, "team")
	first, second := f.version(wf), f.version(wf)
	of := func(v *workflow.Version, op listchange.Operation) listchange.Change {
		return listchange.Change{Tenant: f.owner, SubTenant: "team", Kind: listchange.Version, Operation: op, ID: string(v.ID()), Workflow: wf.ID()}
	}
	f.reported("new versions", of(first, listchange.Created), of(second, listchange.Created))
	nothing := func(context.Context, outbound.Stores) error { return nil }
	f.replace(first, noon, nothing)
	f.reported("one that is active", of(first, listchange.Changed))
	f.replace(second, noon, nothing)
	f.reported("another one that is active", of(first, listchange.Changed), of(second, listchange.Changed))
	f.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Versions.Delete(ctx, tenant.All(f.owner), first.ID())
	})
	f.reported("one that is deleted", of(first, listchange.Deleted))
	f.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Workflows.Delete(ctx, tenant.All(f.owner), wf.ID())
	})
	f.reported("the workflow is deleted", listchange.Change{Tenant: f.owner, SubTenant: "team"})
}

func listsOfDeliveries(f listFixture) {
	own := f.endpoint(f.owner, func(st *event.EndpointState) { st.SubTenant = "team" })
	all := f.endpoint(f.owner)
	e := newEvent(f.owner, 0)
	st := e.State()
	st.SubTenant = "team"
	e = event.Restore(st)
	f.append(e)
	of := func(d *event.Delivery, op listchange.Operation) listchange.Change {
		return listchange.Change{Tenant: f.owner, SubTenant: "team", Kind: listchange.Delivery, Operation: op, ID: string(d.ID()), Endpoint: d.Endpoint()}
	}
	toOwn := f.delivery(own, e)
	f.reported("a new delivery", of(toOwn, listchange.Created))
	toAll := f.delivery(all, e)
	mixed := of(toAll, listchange.Created)
	mixed.Mixed = true
	f.reported("one to an endpoint that belongs to nobody", mixed)
	f.write(func(ctx context.Context, st outbound.Stores) error {
		d, err := st.Webhooks.Deliveries.Get(ctx, tenant.All(f.owner), toOwn.ID())
		if err != nil {
			return err
		}
		return st.Webhooks.Deliveries.Update(ctx, d)
	})
	f.reported("one that is updated", of(toOwn, listchange.Changed))
	f.write(func(ctx context.Context, st outbound.Stores) error {
		locked, err := st.Webhooks.Queue.Lock(ctx, []outbound.DeliveryKey{{Tenant: f.owner, Endpoint: own.ID(), Delivery: toOwn.ID()}})
		if err != nil {
			return err
		}
		return st.Webhooks.Queue.Record(ctx, []*event.Delivery{locked[0].Delivery}, nil)
	})
	f.reported("one of which an attempt is recorded", of(toOwn, listchange.Changed))
}

// listsBetweenProcesses checks what one process learns of another.
func listsBetweenProcesses(t *testing.T, f fixture, there ListStore) {
	t.Helper()
	owner, other := f.tenant().ID(), f.tenant().ID()
	heard, _ := RecordLists(t, there, owner)
	var all []listchange.Change
	lost := 0
	eventually := func(what string, fn func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !fn(); time.Sleep(10 * time.Millisecond) {
			got, n := heard.Take()
			all, lost = append(all, got...), lost+n
			if time.Now().After(end) {
				t.Fatalf("there was no %s", what)
			}
		}
	}
	of := func(r *run.Run) func() bool {
		return func() bool { return slices.Contains(all, listchange.OfRun(r, listchange.Created)) }
	}
	var last func() bool
	eventually("change of another process", func() bool { // those that happen before it knows of the request are lost
		last = of(f.started(owner, func(st *run.State) { st.SubTenant, st.Parent = "a team & more", "run_parent" }))
		return len(all) > 0
	})
	eventually("change of the last of them", last)
	if lost == 0 {
		t.Error("nobody was told that changes may be lost")
	}
	all, lost = nil, 0
	f.started(other)
	r := f.started(owner)
	eventually("change", of(r))
	if want := []listchange.Change{listchange.OfRun(r, listchange.Created)}; !cmp.Equal(want, all) || lost > 0 {
		t.Errorf("heard %v, lost %d times", all, lost)
	}
	many := make([]*run.Run, 150) // more than one notice can name
	for i := range many {
		many[i] = pending(owner)
	}
	f.start(many...)
	eventually("change of the last of many", of(many[len(many)-1]))
	if all = all[1:]; len(all) != len(many) || lost > 0 {
		t.Errorf("of %d changes %d were heard, and lost %d times", len(many), len(all), lost)
	}
	for range 5 {
		tooMany := make([]*run.Run, 800)
		for i := range tooMany {
			tooMany[i] = pending(owner)
		}
		many = append(many, tooMany...)
	}
	f.start(many[150:]...)
	eventually("word that changes were lost", func() bool { return lost > 0 })
}
