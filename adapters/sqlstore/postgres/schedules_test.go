package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const owner = tenant.ID("tenant_1")

// schedules stores n triggers, trg_0 and so on, that became due at noon, a minute apart.
func schedules(t *testing.T, store outbound.UnitOfWork, n int) {
	t.Helper()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		wf := workflow.Restore(workflow.State{ID: "wf_1", Tenant: owner, Name: "Orders", Active: true, Revision: 1})
		ver := workflow.RestoreVersion(workflow.VersionState{ID: "wfv_1", Tenant: owner, Workflow: "wf_1", Number: 1, Active: true, PublishedAt: &noon, Revision: 1})
		err = errors.Join(st.Tenants.Insert(ctx, ten), st.Workflows.Insert(ctx, wf), st.Versions.Insert(ctx, ver))
		for i := range n {
			err = errors.Join(err, st.Triggers.Insert(ctx, trigger.Restore(trigger.State{
				ID: trigger.ID(fmt.Sprint("trg_", i)), Tenant: owner, Version: "wfv_1", Type: trigger.Scheduled, Active: true,
				ActivatedAt: noon.Add(time.Duration(i) * time.Minute), Revision: 1,
			})))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// due claims what is due and names it.
func due(ctx context.Context, st outbound.Stores, limit int) (ids []trigger.ID, err error) {
	found, err := st.Schedules.Due(ctx, noon.AddDate(0, 0, 1), limit)
	for _, d := range found {
		ids = append(ids, d.Trigger.ID())
	}
	return ids, err
}

// within runs fn in a unit of its own that must not have to wait.
func within(t *testing.T, store outbound.UnitOfWork, fn func(context.Context, outbound.Stores) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return store.Do(ctx, fn)
}

func TestClaimedSchedulesAreLeftOutWithoutWaiting(t *testing.T) {
	store, _ := migrated(t)
	schedules(t, store, 5)
	claims := func(limit int, want []trigger.ID, meanwhile func()) {
		t.Helper()
		err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
			got, err := due(ctx, st, limit)
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("asked for %d: %s", limit, diff)
			}
			if err == nil && meanwhile != nil {
				meanwhile()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	claims(2, []trigger.ID{"trg_0", "trg_1"}, func() {
		claims(2, []trigger.ID{"trg_2", "trg_3"}, func() {
			claims(2, []trigger.ID{"trg_4"}, func() { claims(2, nil, nil) })
		})
	})
	claims(9, []trigger.ID{"trg_0", "trg_1", "trg_2", "trg_3", "trg_4"}, nil)
}

// A trigger that is being deleted is held by the deletion, which goes on to wait for
// whoever has its schedule: waiting for one another would be a deadlock.
func TestSchedulesOfWhatIsBeingDeletedAreLeftOut(t *testing.T) {
	store, address := migrated(t)
	schedules(t, store, 3)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()                                                                         // it has changed nothing
	if _, err := tx.ExecContext(t.Context(), `SELECT FROM triggers WHERE id = 'trg_1' FOR UPDATE`); err != nil { // as a deletion begins
		t.Fatal(err)
	}
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		got, err := due(ctx, st, 9)
		if diff := cmp.Diff([]trigger.ID{"trg_0", "trg_2"}, got); err == nil && diff != "" {
			t.Error(diff)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whoever claims a schedule keeps its trigger from being deleted, so that both units get
// on at the first attempt: the deletion after the claim.
func TestAClaimKeepsTheTrigger(t *testing.T) {
	store, address := migrated(t)
	schedules(t, store, 1)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	var attempts atomic.Int64
	removed := make(chan error, 1)
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if attempts.Add(1) > 1 {
			return errors.New("the claim was begun again")
		}
		if _, err := due(ctx, st, 9); err != nil {
			return err
		}
		go func() {
			removed <- within(t, store, func(ctx context.Context, st outbound.Stores) error {
				attempts.Add(1)
				return st.Triggers.Delete(ctx, tenant.All(owner), "trg_0")
			})
		}()
		for waiting := 0; waiting == 0; {
			const anybody = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
			if err := db.QueryRowContext(ctx, anybody).Scan(&waiting); err != nil {
				return err
			}
		}
		_, err := st.Fires.Record(ctx, []*trigger.Fire{trigger.RestoreFire(trigger.FireState{
			Trigger: "trg_0", Tenant: owner, At: noon, Outcome: trigger.Skipped, Reason: "missed", RecordedAt: noon,
		})})
		return err
	})
	if err := errors.Join(err, <-removed); err != nil || attempts.Load() != 2 {
		t.Errorf("%v, after %d attempts", err, attempts.Load())
	}
}
