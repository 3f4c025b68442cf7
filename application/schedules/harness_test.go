package schedules_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// noon is where every test's clock begins.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func migrated(address string) (err error) {
	ctx := context.Background()
	store, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Migrator().Up(ctx)
	return err
}

// openPostgres opens a store of its own pool on a database.
func openPostgres(t testing.TB, address string) *sqlstore.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), address, postgres.Options{MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	return store
}

// openSQLite opens an empty store in a file that does not survive a power cut.
func openSQLite(t testing.TB) *sqlstore.Store {
	t.Helper()
	return sqlitetest.Open(t)
}

// onEachStore runs a test on both databases.
func onEachStore(t *testing.T, check func(w *env)) {
	t.Run("sqlite", func(t *testing.T) { check(newEnv(t, openSQLite(t))) })
	t.Run("postgres", func(t *testing.T) { check(onPostgres(t)) })
}

// onPostgres is a world on a PostgreSQL database of its own.
func onPostgres(t testing.TB) *env {
	t.Helper()
	address := pgtest.Start(t).Migrated(t, migrated)
	w := newEnv(t, openPostgres(t, address))
	w.address = address
	return w
}

// env is a store with a tenant that has an active version to attach triggers to.
type env struct {
	testing.TB
	store     *sqlstore.Store
	address   string // of the database; empty for SQLite
	db        *sql.DB
	clock     *portstest.ManualClock
	runs      *recorder
	scheduler *schedules.Scheduler
	tenant    *tenant.Tenant
	workflow  *workflow.Workflow
	version   *workflow.Version
}

func newEnv(t testing.TB, store *sqlstore.Store) *env {
	t.Helper()
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	w := &env{TB: t, store: store, clock: clock, runs: &recorder{started: map[string]*run.Run{}}}
	w.scheduler = w.process(store)
	w.newTenant()
	return w
}

// withTenant is the same world for another tenant.
func (w *env) withTenant() *env {
	w.Helper()
	other := *w
	other.newTenant()
	return &other
}

// newTenant stores a tenant with an active version, and is about it from then on.
func (w *env) newTenant() {
	w.Helper()
	var err error
	if w.tenant, err = tenant.New(tenant.ID(counted.ID("tenant")), tenant.Draft{Name: "Acme"}, noon); err != nil {
		w.Fatal(err)
	}
	if w.workflow, err = workflow.New(workflow.ID(counted.ID("wf")), w.tenant.ID(), "", workflow.Draft{Name: "Orders"}, noon); err != nil {
		w.Fatal(err)
	}
	newEdge := func() workflow.EdgeID { return "" }
	ver, err := workflow.NewVersion(workflow.VersionID(counted.ID("wfv")), w.workflow, 1, workflow.VersionDraft{}, newEdge, noon)
	if err != nil {
		w.Fatal(err)
	}
	state := ver.State()
	state.Active, state.PublishedAt = true, &noon
	w.version = workflow.RestoreVersion(state)
	w.do(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Tenants.Insert(ctx, w.tenant), st.Workflows.Insert(ctx, w.workflow), st.Versions.Insert(ctx, w.version))
	})
}

// process is a process that fires schedules from a store, by the world's clock.
func (w *env) process(store outbound.UnitOfWork) *schedules.Scheduler {
	return schedules.NewScheduler(recorded{timed{store, w.clock}, w.runs}, fixture.NewSelections(), w.runs, w.clock, counted, execution.NewAllowance(w.clock, nil))
}

// timed is a store whose clock is another one.
type timed struct {
	outbound.UnitOfWork
	clock outbound.Clock
}

func (t timed) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return t.UnitOfWork.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Schedules = timedSchedules{st.Schedules, t.clock}
		return fn(ctx, st)
	})
}

type timedSchedules struct {
	outbound.ScheduleRepository
	clock outbound.Clock
}

func (t timedSchedules) Next(ctx context.Context) (at, now time.Time, err error) {
	at, _, err = t.ScheduleRepository.Next(ctx)
	return at, t.clock.Now(), err
}

func (w *env) do(fn func(context.Context, outbound.Stores) error) {
	w.Helper()
	if err := w.store.Do(w.Context(), fn); err != nil {
		w.Fatal(err)
	}
}

// schedule makes n triggers with a scheduleConfig, activated now.
func (w *env) schedule(n int, config string) (made []*trigger.Trigger) {
	w.Helper()
	const atOnce = 500
	for n > atOnce {
		made, n = append(made, w.schedule(atOnce, config)...), n-atOnce
		w.analyze()
	}
	doc := domain.RestoreDocument(`{"scheduleConfig":` + config + `}`)
	w.do(func(ctx context.Context, st outbound.Stores) error {
		for range n {
			trg, err := trigger.New(trigger.ID(counted.ID("trg")), w.tenant.ID(), trigger.References{VersionExists: true},
				trigger.Draft{Version: w.version.ID(), Name: "Scheduled", Type: trigger.Scheduled, Config: &doc}, w.clock.Now())
			if err != nil {
				return err
			}
			if err := st.Triggers.Insert(ctx, trg); err != nil {
				return err
			}
			made = append(made, trg)
		}
		return nil
	})
	return made
}

// analyze tells PostgreSQL how large its tables are, which it finds out by itself
// within a minute. Until then it plans as if they were empty.
func (w *env) analyze() {
	w.Helper()
	if w.address == "" {
		return
	}
	if _, err := w.connect().ExecContext(w.Context(), `ANALYZE`); err != nil {
		w.Fatal(err)
	}
}

// connect opens the database next to the gateway.
func (w *env) connect() *sql.DB {
	w.Helper()
	if w.db == nil {
		db, err := sql.Open("postgres", w.address)
		if err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() { _ = db.Close() }) // nothing is pending
		w.db = db
	}
	return w.db
}

// fire lets everything happen that is due at a time.
func (w *env) fire(at time.Time) {
	w.Helper()
	w.clock.Set(at)
	for {
		look, err := w.scheduler.FireDue(w.Context(), 100)
		if err != nil {
			w.Fatal(err)
		}
		if look.Next.IsZero() || look.Next.After(look.Now) {
			return
		}
	}
}

// ledger lists "02 15:04:05 outcome" of a trigger, in order, and checks that exactly
// the runs that it names were started.
func (w *env) ledger(trg *trigger.Trigger) string {
	w.Helper()
	var lines []string
	for _, f := range w.fires(trg) {
		lines = append(lines, f.At().Format("02 15:04:05 ")+string(f.Outcome()))
	}
	return strings.Join(lines, ", ")
}

func (w *env) fires(trg *trigger.Trigger) (all []*trigger.Fire) {
	w.Helper()
	for offset := 0; ; offset += domain.MaxPageLimit {
		page, err := domain.NewPageRequest(domain.MaxPageLimit, offset)
		if err != nil {
			w.Fatal(err)
		}
		var found domain.Page[*trigger.Fire]
		err = w.store.View(w.Context(), func(ctx context.Context, st outbound.Stores) error {
			found, err = st.Fires.List(ctx, tenant.All(trg.Tenant()), trg.ID(), trigger.FireFilter{}, domain.Query{PageRequest: page, Sorting: domain.Sorting{Ascending: true}})
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, found.Items...)
		if !found.HasMore() {
			break
		}
	}
	for _, f := range all {
		wanted, started := w.runs.get(f.RunID())
		if started != f.Outcome().Starts() || started && (wanted.DedupeKey() != run.InstantKey(f.At()) || wanted.Trigger() != trg.ID()) {
			w.Errorf("%s at %s: a run was started: %v", f.Outcome(), f.At(), started)
		}
	}
	return all
}

// recorder notes the runs that are started, and makes some fail.
type recorder struct {
	portstest.RecordingSignals
	mu      sync.Mutex
	started map[string]*run.Run
	busy    []trigger.ID         // these have a run that goes on
	gone    []trigger.ID         // these cannot start runs
	fail    func(*run.Run) error // nil fails never
}

// recorded is a store whose runs a recorder watches.
type recorded struct {
	outbound.UnitOfWork
	*recorder
}

func (r recorded) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return r.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Runs.Runs, st.Runs.Overview, st.Firing = recordedRuns{st.Runs.Runs, r.recorder}, busyRuns{st.Runs.Overview, r.recorder}, goneTriggers{st.Firing, r.recorder}
		return fn(ctx, st)
	})
}

type recordedRuns struct {
	outbound.RunRepository
	*recorder
}

func (r recordedRuns) Start(ctx context.Context, wanted ...*run.Run) ([]outbound.StartedRun, error) {
	for _, one := range wanted {
		if r.fail != nil {
			if err := r.fail(one); err != nil {
				return nil, err
			}
		}
	}
	became, err := r.RunRepository.Start(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, one := range became {
		if one.Added {
			r.started[string(one.ID)] = wanted[i]
		}
	}
	return became, nil
}

type busyRuns struct {
	outbound.RunOverview
	*recorder
}

func (r busyRuns) Unfinished(ctx context.Context, of []*trigger.Trigger) ([]bool, error) {
	busy, err := r.RunOverview.Unfinished(ctx, of)
	for i, trg := range of {
		busy[i] = busy[i] || slices.Contains(r.busy, trg.ID())
	}
	return busy, err
}

type goneTriggers struct {
	outbound.FiringRepository
	*recorder
}

func (r goneTriggers) Triggers(ctx context.Context, of []outbound.TriggerKey) ([]outbound.FiringTrigger, error) {
	found, err := r.FiringRepository.Triggers(ctx, of)
	for i, key := range of {
		if slices.Contains(r.gone, key.Trigger) {
			found[i] = outbound.FiringTrigger{}
		}
	}
	return found, err
}

func (r *recorder) get(id string) (*run.Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.started[id]
	return one, ok
}

// counted makes identifiers that do not repeat in this process.
var counted = &portstest.CountedRandom{}
