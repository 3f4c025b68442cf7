package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func openSQLite(t testing.TB) *sqlstore.Store {
	t.Helper()
	return sqlitetest.Open(t)
}

func openPostgres(t testing.TB) *sqlstore.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), pgtest.Start(t).Migrated(t, migrated), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	return store
}

func migrated(address string) (err error) {
	store, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Migrator().Up(context.Background())
	return err
}

// measured counts units of work that write and how many runs each has cancelled at most.
type measured struct {
	outbound.UnitOfWork
	mu    sync.Mutex
	most  int
	after func() // a unit; nil for nothing
}

func (m *measured) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	n := 0
	err := m.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		n = 0
		st.Runs.Runs = recorded{st.Runs.Runs, &n}
		return fn(ctx, st)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most = max(m.most, n)
	if m.after != nil {
		m.after()
	}
	return err
}

type recorded struct {
	outbound.RunRepository
	n *int
}

func (r recorded) Record(ctx context.Context, steps ...outbound.RunStep) error {
	*r.n += len(steps)
	return r.RunRepository.Record(ctx, steps...)
}

// env is a tenant with a workflow.
type env struct {
	testing.TB
	store     *sqlstore.Store
	units     *measured
	notified  *portstest.RecordingSignals
	workflows *workflows.Service
	versions  *workflows.Versions
	who       tenant.Caller
	version   *workflow.Version
}

func newEnv(t testing.TB, store *sqlstore.Store) *env {
	t.Helper()
	h := &env{TB: t, store: store, units: &measured{UnitOfWork: store}, notified: &portstest.RecordingSignals{}}
	clock, random := system.Clock{}, system.Random{}
	h.workflows = workflows.New(h.units, h.notified, clock, random)
	h.versions = workflows.NewVersions(h.units, directory.New(h.units), nil, clock, random)
	ten, err := tenant.New(tenant.ID(random.ID("tenant")), tenant.Draft{Name: "Acme"}, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	h.who = tenant.Caller{Scope: tenant.All(ten.ID()), KeyType: tenant.Secret}
	wf, err := workflow.New(workflow.ID(random.ID("wf")), ten.ID(), "", workflow.Draft{Name: "Orders"}, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	now := clock.Now()
	h.version = workflow.RestoreVersion(workflow.VersionState{
		ID: workflow.VersionID(random.ID("wfv")), Workflow: wf.ID(), Tenant: ten.ID(), Number: 1, PublishedAt: &now, CreatedAt: now, Revision: 1,
	})
	h.do(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Tenants.Insert(ctx, ten), st.Workflows.Insert(ctx, wf), st.Versions.Insert(ctx, h.version))
	})
	return h
}

func (h *env) do(fn func(context.Context, outbound.Stores) error) {
	h.Helper()
	if err := h.store.Do(h.Context(), fn); err != nil {
		h.Fatal(err)
	}
}

// runs starts runs of a version.
func (h *env) runs(n int, version workflow.VersionID, of workflow.ID) (ids []run.ID) {
	h.Helper()
	var all []*run.Run
	for range n {
		id := run.ID(system.Random{}.ID(run.IDPrefix))
		all = append(all, run.New(id, run.Start{Tenant: h.who.Tenant(), Workflow: of, Version: version, Entity: "e", DedupeKey: string(id), Cause: run.CauseManual}, system.Clock{}.Now()))
		ids = append(ids, id)
	}
	h.do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, all...)
		return err
	})
	return ids
}

func (h *env) count(status run.Status) (n int) {
	h.Helper()
	err := h.store.Read(h.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Runs.Runs.List(ctx, h.who.Scope, run.Filter{Status: status}, domain.Query{})
		n = found.Total
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// seen is what a client sees of the workflow.
func (h *env) seen() (seen string) {
	h.Helper()
	err := h.store.Read(h.Context(), func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, h.who.Scope, h.version.Workflow())
		_, errVersion := st.Versions.Get(ctx, h.who.Scope, h.version.ID())
		switch {
		case errors.Is(err, domain.NotFound) && errors.Is(errVersion, domain.NotFound):
			seen = fmt.Sprintf("gone, %d runs live", h.count(run.StatusPending))
			return nil
		case err == nil && errVersion == nil:
			seen = fmt.Sprintf("%s, active %v, revision %d, %d runs live", wf.Name(), wf.Active(), wf.Revision(), h.count(run.StatusPending))
		}
		return errors.Join(err, errVersion)
	})
	if err != nil {
		h.Error(err)
	}
	return seen
}

func (h *env) wantCode(err error, want string) {
	h.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != want {
		h.Errorf("the error is %v, not %s", err, want)
	}
}

func TestDeletingAWorkflowCancelsItsRuns(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		for _, n := range []int{0, 3, 100, 250} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newEnv(t, open(t))
				ids := h.runs(n, h.version.ID(), h.version.Workflow())
				h.runs(1, "wfv_other", "wf_other")
				if err := h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)); err != nil {
					t.Fatal(err)
				}
				if cancelled, live := h.count(run.StatusCancelled), h.count(run.StatusPending); cancelled != n || live != 1 {
					t.Errorf("%d are cancelled, %d are live", cancelled, live)
				}
				reported := h.notified.All()
				slices.Sort(reported)
				if !slices.Equal(ids, reported) {
					t.Errorf("%d are reported", len(reported))
				}
				if h.units.most > 100 {
					t.Errorf("a unit cancelled %d", h.units.most)
				}
				_, err := h.workflows.Get(t.Context(), h.who, h.version.Workflow())
				h.wantCode(err, "workflow_not_found")
			})
		}
	}
}

// What waits for a run that is cancelled is to be looked at as well.
func TestDeletingAWorkflowTellsOfTheRunsThatWaitForIts(t *testing.T) {
	h := newEnv(t, openSQLite(t))
	parent := h.runs(1, "wfv_other", "wf_other")[0]
	h.do(func(ctx context.Context, st outbound.Stores) error {
		s := run.New("run_called", run.Start{
			Tenant: h.who.Tenant(), Workflow: h.version.Workflow(), Version: h.version.ID(), Entity: "e", Cause: run.CauseCall,
		}, system.Clock{}.Now()).State()
		s.Parent, s.ParentNode, s.ParentWaits = parent, "call", true
		_, err := st.Runs.Runs.Start(ctx, run.Restore(s))
		return err
	})
	if err := h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.notified.All(), []run.ID{"run_called", parent}) {
		t.Errorf("%v are reported", h.notified.All())
	}
}

// What others see of a deletion: the workflow as it was with all its runs, and then nothing
// of it any more but runs that are being cancelled.
func TestADeletionIsSeenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	h := newEnv(t, openSQLite(t))
	h.runs(150, h.version.ID(), h.version.Workflow())
	var seen []string
	h.units.after = func() { seen = append(seen, h.seen()) }
	if err := h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"gone, 50 runs live", "gone, 0 runs live"}; !slices.Equal(seen, want) {
		t.Errorf("seen is %q", seen)
	}
}

func TestADeletionThatIsRefusedCancelsNothing(t *testing.T) {
	h := newEnv(t, openSQLite(t))
	h.runs(150, h.version.ID(), h.version.Workflow())
	h.wantCode(h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(7)), "precondition_failed")
	h.wantCode(h.workflows.Delete(t.Context(), tenant.Caller{Scope: tenant.All("tenant_other"), KeyType: tenant.Secret}, h.version.Workflow(), domain.Expected{}), "workflow_not_found")
	if n := h.count(run.StatusCancelled); n > 0 || len(h.notified.All()) > 0 {
		t.Errorf("%d are cancelled", n)
	}
	if wf, err := h.workflows.Get(t.Context(), h.who, h.version.Workflow()); err != nil || !wf.Active() {
		t.Error(err)
	}
}

func TestAVersionThatRunsExecuteIsNotDeleted(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newEnv(t, open(t))
			id := h.runs(1, h.version.ID(), h.version.Workflow())[0]
			remove := func() error { return h.versions.Delete(t.Context(), h.who, h.version.ID(), domain.Expected{}) }
			h.wantCode(remove(), "version_in_use")
			h.do(func(ctx context.Context, st outbound.Stores) error {
				r, err := st.Runs.Runs.Get(ctx, h.who.Scope, id)
				if err != nil {
					return err
				}
				step := r.Abandon(time.Now(), "")
				return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, History: step.History})
			})
			if err := remove(); err != nil {
				t.Error(err)
			}
			h.wantCode(remove(), "version_not_found")
		})
	}
}
