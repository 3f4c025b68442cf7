package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What is decided is whether the run has ended when it goes, not when it was found.
func TestAnErasureGetsARunThatIsRetriedWhileItFindsIt(t *testing.T) {
	t.Parallel()
	store, url := migrated(t)
	startRuns(t, store, 0)
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	entity, ended := "anna", noon
	one := func(id, parent run.ID, about string) *run.Run {
		return run.Restore(run.State{
			Origin: run.Origin{ID: id, Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual, Entity: about, Parent: parent, CreatedAt: noon},
			Status: run.StatusFailed, UpdatedAt: noon, FinishedAt: &ended,
		})
	}
	erasure, err := job.NewErasure("job_1", tenant.All(owner), job.ErasureDraft{Entity: &entity}, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, one("run_parent", "", "else"), one("run_child", "run_parent", entity))
		return errors.Join(err, st.Runs.Jobs.Insert(ctx, erasure))
	})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // unless it was committed
	if _, err := tx.ExecContext(t.Context(), `UPDATE runs SET finished_at = NULL WHERE id = 'run_parent'`); err != nil {
		t.Fatal(err)
	}
	var taken int
	var removed job.Removed
	done := make(chan error, 1)
	go func() {
		done <- within(t, store, func(ctx context.Context, st outbound.Stores) (err error) {
			taken, removed, err = st.Erasures.Take(ctx, erasure, 10)
			return err
		})
	}()
	for waiting := 0; waiting == 0; {
		const locks = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
		if err := db.QueryRowContext(t.Context(), locks).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tx.Commit(), <-done); err != nil {
		t.Fatal(err)
	}
	if taken != 2 || removed.Runs != 0 {
		t.Errorf("%d runs were taken and %d removed", taken, removed.Runs)
	}
}
