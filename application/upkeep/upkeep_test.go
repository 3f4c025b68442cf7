package upkeep_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/application/upkeep"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// More than a batch of fires is older than the retention, and one of each kind of
// record is not.
func TestWhatIsKeptLongEnoughIsSweptAndNothingElse(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	service := upkeep.New(store, nil, clock, nil)
	const old = 1100
	owner := tenant.ID("tenant_1")
	idempotency := func(key string) domain.IdempotencyKey {
		return domain.IdempotencyKey{Scope: "POST /things", Key: key, Answer: func(any) ([]byte, error) { return []byte("done"), nil }}
	}
	fires := func() (n int) {
		err := store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Fires.List(ctx, tenant.All(owner), "trg_1", trigger.FireFilter{}, domain.Query{})
			n = found.Total
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		if err := st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		wf := workflow.Restore(workflow.State{ID: "wf_1", Tenant: owner, Name: "Orders", Revision: 1})
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		ver := workflow.RestoreVersion(workflow.VersionState{ID: "wfv_1", Tenant: owner, Workflow: wf.ID(), Number: 1, Revision: 1})
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		longAgo, notLongAgo := noon.Add(-trigger.LeftBehindRetention-time.Second), noon.Add(-trigger.LeftBehindRetention)
		for id, leftAt := range map[trigger.ID]*time.Time{"trg_1": nil, "trg_2": &longAgo, "trg_3": &notLongAgo} {
			trg := trigger.Restore(trigger.State{ID: id, Tenant: owner, Version: ver.ID(), Type: trigger.Scheduled, LeftAt: leftAt, Revision: 1})
			if err := st.Triggers.Insert(ctx, trg); err != nil {
				return err
			}
		}
		expired := noon.Add(-trigger.FireRetention)
		var all []*trigger.Fire
		for i := range old + 1 {
			at := expired.Add(-time.Duration(i) * time.Minute) // the first is not older than that
			all = append(all, trigger.RestoreFire(trigger.FireState{Trigger: "trg_1", Tenant: owner, At: at, Outcome: trigger.Skipped, RecordedAt: at}))
		}
		if _, err := st.Fires.Record(ctx, all); err != nil {
			return err
		}
		if err := st.Idempotency.Record(ctx, owner, idempotency("old"), nil, noon.Add(-domain.IdempotencyRetention-time.Second)); err != nil {
			return err
		}
		if err := st.Idempotency.Record(ctx, owner, idempotency("young"), nil, noon); err != nil {
			return err
		}
		for key, at := range map[string]time.Time{"old": noon.Add(-domain.IdempotencyRetention - time.Second), "young": noon} {
			if err := st.OperatorIdempotency.Record(ctx, idempotency(key), nil, at); err != nil {
				return err
			}
		}
		for i, at := range []time.Time{noon.Add(-event.Retention), noon.Add(-event.Retention - time.Second), noon.Add(-event.Retention - time.Hour)} {
			e := event.Restore(event.State{ID: event.ID(fmt.Sprint("evt_", i)), Tenant: owner, Type: event.RunFailed, At: at})
			if err := st.Webhooks.Events.Append(ctx, e); err != nil {
				return err
			}
			if i < 2 { // the last one was not handed to the endpoints yet
				if err := st.Webhooks.Events.MarkFannedOut(ctx, e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{old, 0} {
		if removed, err := service.SweepFires(t.Context()); removed != want || err != nil || fires() != 1 {
			t.Errorf("%d fires were removed, not %d, and %d are left: %v", removed, want, fires(), err)
		}
	}
	for _, want := range []int{1, 0} {
		if forgotten, err := service.SweepLeft(t.Context()); forgotten != want || err != nil {
			t.Errorf("of %d triggers it was forgotten that they were left behind, not of %d: %v", forgotten, want, err)
		}
	}
	for _, want := range []int{2, 0} { // a tenant's and the operator's
		if removed, err := service.SweepOutcomes(t.Context()); removed != want || err != nil {
			t.Errorf("%d outcomes were removed, not %d: %v", removed, want, err)
		}
	}
	for _, want := range []int{1, 0} {
		if removed, err := service.SweepEvents(t.Context()); removed != want || err != nil {
			t.Errorf("%d events were removed, not %d: %v", removed, want, err)
		}
	}
}

// measured notes how many events each unit was to remove.
type measured struct {
	outbound.UnitOfWork
	limits []int
}

func (m *measured) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return m.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Webhooks.Events = measuredEvents{st.Webhooks.Events, m}
		return fn(ctx, st)
	})
}

type measuredEvents struct {
	outbound.EventRepository
	by *measured
}

func (e measuredEvents) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	e.by.limits = append(e.by.limits, limit)
	return e.EventRepository.Sweep(ctx, before, limit)
}

// An event takes the deliveries to as many as a hundred endpoints along.
func TestAUnitRemovesFewEvents(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	const old = 120
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		if err := st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		var all []*event.Event
		for i := range old {
			all = append(all, event.Restore(event.State{ID: event.ID(fmt.Sprint("evt_", i)), Tenant: ten.ID(), Type: event.RunFailed, At: noon.AddDate(0, 0, -40), Data: domain.RestoreDocument("{}")}))
		}
		if err := st.Webhooks.Events.Append(ctx, all...); err != nil {
			return err
		}
		return st.Webhooks.Events.MarkFannedOut(ctx, all...)
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := &measured{UnitOfWork: store}
	removed, err := upkeep.New(counted, nil, clock, nil).SweepEvents(t.Context())
	if removed != old || err != nil || len(counted.limits) != 3 {
		t.Errorf("%d were removed in %d units: %v", removed, len(counted.limits), err)
	}
	for _, limit := range counted.limits {
		if limit*event.MaxEndpoints > 5000 {
			t.Errorf("a unit removes %d events", limit)
		}
	}
}
