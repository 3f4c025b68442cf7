package firing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// listeners are n triggers that listen for the event paid, in the order in which they fire,
// which is not that of their identifiers.
func (d *env) listeners(ver *workflow.Version, n int) (ids []trigger.ID) {
	d.Helper()
	now := d.Clock.Now()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		ids = nil
		for i := range n {
			at := now.Add(time.Duration(n-i) * time.Millisecond)
			id := trigger.ID(fmt.Sprintf("trg_%026d", i))
			err := st.Triggers.Insert(ctx, trigger.Restore(trigger.State{
				ID: id, Tenant: d.Owner, Version: ver.ID(), Name: "T", Type: trigger.Webhook, Config: trigger.RestoreConfig(paid),
				Active: true, ActivatedAt: at, CreatedAt: at, UpdatedAt: at, Revision: 1,
			}))
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	slices.Reverse(ids)
	return ids
}

// keptBytes is what is kept for the tenant.
func (d *env) keptBytes() (kept int64) {
	d.Helper()
	ver := d.NewVersion(nil, nil)
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Version(ctx, tenant.All(d.Owner), ver.Workflow(), ver.ID())
		kept = found.StoredBytes
		return err
	})
	return kept
}

// byEvent brings the event paid.
func (d *env) byEvent(idempotency domain.IdempotencyKey, data string, key *string) ([]run.Fired, error) {
	return d.Firing.ByEvent(d.Context(), d.Caller, idempotency, run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(data), DedupeKey: key}})
}

func firedTriggers(fired []run.Fired) (ids []trigger.ID) {
	for _, f := range fired {
		ids = append(ids, f.Trigger)
	}
	return ids
}

// writes notes what the units that start runs write.
type writes struct {
	mu    sync.Mutex
	runs  []int // in each statement
	bytes int   // of payloads, of the statement with the most
}

func (w *writes) watch(st outbound.Stores) outbound.Stores {
	st.Runs.Runs = watchedRuns{st.Runs.Runs, w}
	st.Runs.Shared = watchedShared{st.Runs.Shared, w}
	return st
}

func (w *writes) add(started, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs, w.bytes = append(w.runs, started), max(w.bytes, bytes)
}

type watchedRuns struct {
	outbound.RunRepository
	*writes
}

func (w watchedRuns) Start(ctx context.Context, all ...*run.Run) ([]outbound.StartedRun, error) {
	size := 0
	for _, r := range all {
		size += len(r.Payload())
	}
	w.add(len(all), size)
	return w.RunRepository.Start(ctx, all...)
}

type watchedShared struct {
	outbound.SharedPayloads
	*writes
}

func (w watchedShared) Start(ctx context.Context, id outbound.PayloadID, all ...*run.Run) ([]outbound.StartedRun, error) {
	w.add(len(all), len(all[0].Payload()))
	return w.SharedPayloads.Start(ctx, id, all...)
}

// One call of 0.9 MB that fires 280 triggers was 250 MB in one unit.
func TestThePayloadOfAnEventIsStoredOnceWhateverFires(t *testing.T) {
	onEachStore(t, func(d *env) {
		const size = 900_000
		want := d.listeners(d.NewVersion(nil, nil), 280)
		var w writes
		d.Store.WrapWrite = w.watch
		fired, err := d.byEvent(domain.IdempotencyKey{}, `"`+strings.Repeat("x", size)+`"`, nil)
		if err != nil {
			d.Fatal(err)
		}
		d.Same(want, firedTriggers(fired))
		if kept := d.keptBytes(); kept < size || kept > size+280*1000 {
			d.Errorf("%d bytes are kept", kept)
		}
		d.Same([]int{50, 50, 50, 50, 50, 30}, w.runs)
		if w.bytes > size+2 {
			d.Errorf("%d bytes of payloads in one statement", w.bytes)
		}
		if r := d.Get(fired[7].Run); len(r.Payload()) != size+2 {
			d.Errorf("a run has %d bytes", len(r.Payload()))
		}
	})
}

func TestASmallPayloadAndThatOfOneRunIsKeptWithTheRun(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.listeners(d.NewVersion(nil, nil), 1)
	shared := 0
	d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Shared = countedShared{st.Runs.Shared, &shared}
		return st
	}
	if _, err := d.byEvent(domain.IdempotencyKey{}, `"`+strings.Repeat("x", 5000)+`"`, nil); err != nil || shared > 0 {
		t.Errorf("of one run: %d, %v", shared, err)
	}
	d.NewTrigger(d.NewVersion(nil, nil), paid)
	if _, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil); err != nil || shared > 0 {
		t.Errorf("a small one: %d, %v", shared, err)
	}
	if _, err := d.byEvent(domain.IdempotencyKey{}, `"`+strings.Repeat("x", 5000)+`"`, nil); err != nil || shared != 1 {
		t.Errorf("%d, %v", shared, err)
	}
}

type countedShared struct {
	outbound.SharedPayloads
	n *int
}

func (c countedShared) Start(ctx context.Context, id outbound.PayloadID, all ...*run.Run) ([]outbound.StartedRun, error) {
	*c.n++
	return c.SharedPayloads.Start(ctx, id, all...)
}

func TestManyTriggersFireInUnitsOfBoundedSize(t *testing.T) {
	onEachStore(t, func(d *env) {
		const many = 1200
		want := d.listeners(d.NewVersion(nil, nil), many)
		var w writes
		d.Store.WrapWrite = w.watch
		before := d.Store.Commits
		fired, err := d.byEvent(domain.IdempotencyKey{}, `"`+strings.Repeat("x", 20_000)+`"`, nil)
		if err != nil {
			d.Fatal(err)
		}
		d.Same(want, firedTriggers(fired))
		d.Same(slices.Repeat([]int{50}, many/50), w.runs)
		if units := d.Store.Commits - before; units != many/50 || len(d.RecordedSignals.Since()) != many {
			d.Errorf("%d units", units)
		}
		if kept := d.keptBytes(); kept > 20_000+many*1000 {
			d.Errorf("%d bytes are kept", kept)
		}
	})
}

// A database that has one unit that writes at a time gives the others their turn between
// the units of one call.
func TestAnothersWriteGetsInBetweenTheUnitsOfACall(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.listeners(d.NewVersion(nil, nil), 140)
	var order []string
	var all sync.WaitGroup
	wrapped := false
	d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores { // within a unit that writes
		order = append(order, "unit")
		if !wrapped {
			wrapped = true
			before := d.Raw.Stats()["writer"].WaitCount
			all.Go(func() {
				err := d.Raw.Do(d.Context(), func(context.Context, outbound.Stores) error {
					order = append(order, "other")
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			for d.Raw.Stats()["writer"].WaitCount == before { // until it waits for its turn
				select {
				case <-d.Context().Done():
					t.Error("the other one never asked")
					return st
				default:
				}
			}
		}
		return st
	}
	if _, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if got := strings.Join(order, ", "); got != "unit, other, unit, unit" {
		t.Error(got)
	}
}

var errProcessEnds = errors.New("the process ends")

// crashIn lets every unit that writes fail from the n-th on.
func (d *env) crashIn(n int) {
	units := 0
	d.Store.FailWith(func(context.Context) error {
		if units++; units > n {
			return errProcessEnds
		}
		return nil
	})
}

func TestARepeatCompletesACallThatEndedBetweenTwoUnits(t *testing.T) {
	for what, key := range map[string]struct {
		idempotency domain.IdempotencyKey
		dedupe      *string
	}{
		"an idempotency key": {fixture.Keyed("k"), nil}, "a dedupe key": {domain.IdempotencyKey{}, fixture.Text("k")}, "both": {fixture.Keyed("k"), fixture.Text("other")},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, func(d *env) {
				want := d.listeners(d.NewVersion(nil, nil), 1100)
				data := `"` + strings.Repeat("x", 20_000) + `"`
				for units := range 3 { // the second repeat finds the runs of two
					d.crashIn(min(units, 1))
					if _, err := d.byEvent(key.idempotency, data, key.dedupe); !errors.Is(err, errProcessEnds) {
						d.Fatal(err)
					}
				}
				d.Store.FailWith(nil)
				fired, err := d.byEvent(key.idempotency, data, key.dedupe)
				if err != nil {
					d.Fatal(err)
				}
				d.Same(want, firedTriggers(fired))
				if total := d.total(); total != 1100 {
					d.Errorf("%d runs were started", total)
				}
				if kept := d.keptBytes(); kept > 20_000+1100*1000 {
					d.Errorf("%d bytes are kept", kept)
				}
				again, err := d.byEvent(key.idempotency, data, key.dedupe)
				if key.idempotency.Wanted() && fixture.Replayed(err) != fmt.Sprint(fired) {
					d.Error(err)
				} else if !key.idempotency.Wanted() {
					d.Same(fired, again)
				}
			})
		})
	}
}

// total is how many runs the tenant has.
func (d *env) total() int {
	d.Helper()
	page, err := domain.NewPageRequest(1, 0)
	if err != nil {
		d.Fatal(err)
	}
	found, err := d.Runs.List(d.Context(), d.Caller, run.Filter{}, domain.Query{PageRequest: page})
	if err != nil {
		d.Fatal(err)
	}
	return found.Total
}

// The run that its first part has started may wait for the event by now: it is not resumed
// by the event that started it.
func TestARepeatOfAnIngestGoesOnFiringAndResumesNone(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{fixture.WaitNode}, nil)
		want := d.listeners(ver, 600)
		ingest := func() (run.Ingested, error) {
			return d.Firing.Ingest(d.Context(), d.Caller, fixture.Keyed("k"), run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(`{"entityId":"e"}`)}}})
		}
		d.crashIn(1)
		if _, err := ingest(); !errors.Is(err, errProcessEnds) {
			d.Fatal(err)
		}
		d.Store.FailWith(nil)
		for _, r := range d.RunsOf(d.Owner)[:3] {
			if r := d.Begin(r.ID); r.Status() != run.StatusPaused {
				d.Fatal(r.Status())
			}
		}
		in, err := ingest()
		if err != nil || len(in.Resumed) > 0 {
			d.Fatal(in.Resumed, err)
		}
		d.Same(want, firedTriggers(in.Triggered))
		if total := d.total(); total != 600 {
			d.Errorf("%d runs were started", total)
		}
		if _, err := ingest(); fixture.Replayed(err) != fmt.Sprint(in) {
			d.Error(err)
		}
	})
}

func TestTwoCallsWithOneKeyAtTheSameTimeStartEachRunOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		want := d.listeners(d.NewVersion(nil, nil), 1100)
		var all sync.WaitGroup
		answers := make([][]run.Fired, 4)
		for i := range answers {
			all.Go(func() {
				fired, err := d.byEvent(domain.IdempotencyKey{}, `"`+strings.Repeat("x", 2000)+`"`, fixture.Text("k"))
				if err != nil {
					d.Error(err)
				}
				answers[i] = fired
			})
		}
		all.Wait()
		d.Same(want, firedTriggers(answers[0]))
		for _, other := range answers[1:] {
			d.Same(answers[0], other)
		}
		if total := d.total(); total != 1100 {
			d.Errorf("%d runs were started", total)
		}
	})
}

func TestACallThatIsCutLeavesOutTriggersThatCannotFireAnyMore(t *testing.T) {
	onEachStore(t, func(d *env) {
		want := d.listeners(d.NewVersion(nil, nil), 700)
		gone, off := trigger.ID(fmt.Sprintf("trg_%026d", 600)), trigger.ID(fmt.Sprintf("trg_%026d", 650))
		units := 0
		d.Store.FailWith(func(ctx context.Context) error {
			if units++; units != 2 {
				return nil
			}
			return d.Raw.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				trg, err := st.Triggers.Get(ctx, tenant.All(d.Owner), off)
				if err != nil {
					return err
				}
				no := false
				if err := trg.Revise(trigger.Patch{Active: &no}, tenant.Settings{}, d.Clock.Now()); err != nil {
					return err
				}
				return errors.Join(st.Triggers.Update(ctx, trg), st.Triggers.Delete(ctx, tenant.All(d.Owner), gone))
			})
		})
		fired, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil)
		if err != nil {
			d.Fatal(err)
		}
		d.Same(slices.DeleteFunc(want, func(id trigger.ID) bool { return id == gone || id == off }), firedTriggers(fired))
	})
}

func TestRateLimitsAreAskedOnceForACallThatIsCut(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion(nil, nil)
	want := append(d.listeners(ver, 600), d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"rateLimit":{"maxRequests":1,"windowMs":60000}}`, later(60), func(st *trigger.State) {
		st.ID = "trg_9" // behind the others, in the second unit
	}).ID())
	fired, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Same(want, firedTriggers(fired))
	if fired, err = d.byEvent(domain.IdempotencyKey{}, `"x"`, nil); err != nil || len(fired) != 600 {
		t.Errorf("%d are fired, %v", len(fired), err)
	}
}

func TestTheClientThatGoesDoesNotLeaveACallHalfDone(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.listeners(d.NewVersion(nil, nil), 1100)
	ctx, cancel := context.WithCancel(t.Context())
	units := 0
	d.Store.FailWith(func(context.Context) error {
		if units++; units == 2 {
			cancel()
		}
		return nil
	})
	fired, err := d.Firing.ByEvent(ctx, d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid"})
	if err != nil || len(fired) != 1100 {
		t.Errorf("%d are fired, %v", len(fired), err)
	}
}

func TestAnEventOfTooManyTriggersIsRefused(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	d.listeners(d.NewVersion(nil, nil), 10_001)
	_, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil)
	d.WantCode(err, domain.Conflict, "too_many_triggers")
	if n := d.total(); n > 0 {
		t.Errorf("%d runs were started", n)
	}
}

// limited lets the tenant keep no more than so many bytes.
func (d *env) limited(most int64) { d.SetBudgets(tenant.Budgets{BytesKept: most}) }

func TestAboveItsQuotaATenantStartsNoRunsInAnyWay(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(paid)
		ver := d.VersionOf(trg)
		first := d.Call(trg, run.Call{EventData: fixture.Body(`"` + strings.Repeat("x", 1000) + `"`), DedupeKey: fixture.Text("first")})
		kept := d.keptBytes()
		d.limited(kept + 500)
		large, small := run.Call{EventData: fixture.Body(`"` + strings.Repeat("x", 600) + `"`)}, run.Call{EventData: fixture.Body(`"x"`)}
		ways := d.ways(trg, ver)
		for way, start := range ways {
			err := start(large)
			d.WantCode(err, domain.Conflict, "storage_exceeded")
			if d.keptBytes() != kept {
				d.Errorf("%s: something was kept", way)
			}
		}
		if err := ways["call"](small); err != nil {
			d.Errorf("what fits is refused: %v", err)
		}
		d.limited(1)
		again, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{DedupeKey: fixture.Text("first")})
		if d.Same(first, again); err != nil {
			d.Errorf("a repeat is refused: %v", err)
		}
		if r := d.Begin(first.Run); r.Status() != run.StatusCompleted {
			d.Errorf("a run that is under way is %s", r.Status())
		}
		d.limited(0)
		if err := ways["event"](large); err != nil {
			d.Errorf("without a quota: %v", err)
		}
	})
}
