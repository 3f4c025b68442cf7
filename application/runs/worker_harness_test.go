package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// openSQLite opens an empty store in a file that does not survive a power cut.
func openSQLite(t testing.TB) *sqlstore.Store {
	t.Helper()
	return sqlitetest.Open(t)
}

func openPostgres(t testing.TB) *sqlstore.Store {
	t.Helper()
	address := pgtest.Start(t).Migrated(t, func(address string) (err error) {
		store, err := postgres.Open(context.Background(), address, postgres.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		_, err = store.Migrator().Up(context.Background())
		return err
	})
	store, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	return store
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, store *sqlstore.Store)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// watched is a unit of work of which tests learn when it has committed something, and
// in which they make things go wrong.
type watched struct {
	outbound.UnitOfWork
	mu     sync.Mutex
	news   chan struct{}
	before func(ctx context.Context) error // each unit that writes; nil for nothing
	wrap   func(outbound.Stores) outbound.Stores
	wrote  int // units that have committed
	read   int

	wrapRead func(outbound.Stores) outbound.Stores
}

func (w *watched) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.mu.Lock()
	before, wrap := w.before, w.wrap
	w.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	err := w.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if wrap != nil {
			st = wrap(st)
		}
		return fn(ctx, st)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.wrote++
	}
	close(w.news)
	w.news = make(chan struct{})
	return err
}

func (w *watched) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.mu.Lock()
	w.read++
	wrap := w.wrapRead
	w.mu.Unlock()
	return w.UnitOfWork.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		if wrap != nil {
			st = wrap(st)
		}
		return fn(ctx, st)
	})
}

// fails makes every later unit that writes end as the function says.
func (w *watched) fails(before func(ctx context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = before
}

// outside is the world that nodes have their effects in.
type outside struct {
	mu       sync.Mutex
	calls    []outbound.NodeCall
	answer   func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error)
	endpoint func(t node.Type) (outbound.NodeEndpoint, error)
}

func (o *outside) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	o.mu.Lock()
	o.calls = append(o.calls, call)
	answer := o.answer
	o.mu.Unlock()
	if answer == nil {
		return outbound.NodeCompleted{Output: map[string]any{"ok": true}}, nil
	}
	return answer(ctx, call)
}

func (o *outside) Health(context.Context, outbound.HealthCheck) (outbound.NodeHealth, error) {
	return outbound.NodeHealth{}, errors.New("nobody asks for health here")
}

func (o *outside) Endpoint(_ context.Context, _ tenant.ID, t node.Type, _ string) (outbound.NodeEndpoint, error) {
	if o.endpoint != nil {
		return o.endpoint(t)
	}
	return outbound.NodeEndpoint{URL: "https://nodes.example/" + string(t), Secrets: []domain.SigningSecret{domain.NewSigningSecret([domain.SecretEntropy]byte{1})}}, nil
}

// made lists the attempts, as "node attempt" in their order.
func (o *outside) made() (list []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.calls {
		list = append(list, fmt.Sprint(c.NodeID, " ", c.Attempt))
	}
	return list
}

// workshop is a gateway with one tenant, in which workers work.
type workshop struct {
	testing.TB
	store   *watched
	raw     *sqlstore.Store
	signals *sqlstore.RunSignals
	outside *outside
	owner   tenant.ID
	key     run.Key
	memory  budget.Memory
	mu      sync.Mutex
	errs    []error
}

func newWorkshop(t testing.TB, store *sqlstore.Store) *workshop {
	t.Helper()
	w := &workshop{
		TB: t, raw: store, store: &watched{UnitOfWork: store, news: make(chan struct{})}, signals: sqlstore.NewRunSignals(store),
		outside: &outside{}, key: run.Key{1, 2, 3}, memory: budget.Divide(1<<40, 2),
	}
	t.Cleanup(func() { // after the workers have ended
		for name, b := range map[string]*budget.Budget{"calls": w.memory.Calls, "growing": w.memory.Growing, "computing": w.memory.Compute, "planning": w.memory.Planning} {
			if used := b.Used(); used != 0 {
				t.Errorf("%d bytes of %s are never given back", used, name)
			}
		}
	})
	w.owner = w.tenant()
	return w
}

func (w *workshop) tenant() tenant.ID {
	w.Helper()
	ten, err := tenant.New(tenant.ID(system.Random{}.ID("tenant")), "Acme", tenant.English, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	listens := event.RestoreEndpoint(event.EndpointState{ // or nobody is told of anything
		ID: event.EndpointID(system.Random{}.ID(event.EndpointIDPrefix)), Tenant: ten.ID(), URL: "https://example.com/hooks", Active: true, Revision: 1,
	})
	w.do(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Tenants.Insert(ctx, ten), st.Webhooks.Endpoints.Insert(ctx, listens))
	})
	return ten.ID()
}

func (w *workshop) do(fn func(context.Context, outbound.Stores) error) {
	w.Helper()
	if err := w.raw.Do(w.Context(), fn); err != nil {
		w.Fatal(err)
	}
}

// workerSetup are the options of most tests; hastySetup those of tests in which leases
// end.
var (
	workerSetup = runs.WorkerOptions{Name: "test", Lease: 8 * time.Second, Drain: 2 * time.Second}
	hastySetup  = runs.WorkerOptions{Name: "hasty", Lease: 600 * time.Millisecond, Drain: 2 * time.Second}
)

// newWorker makes the worker of a process of its own.
func (w *workshop) newWorker(work outbound.UnitOfWork, signals outbound.RunSignals, opts runs.WorkerOptions) *runs.Worker {
	d := directory.New(w.raw)
	d.Trust(true) // nothing changes in most tests; those where it does tell
	return runs.NewWorker(work, w.outside, w.outside, expression.Compiler{}, d, signals, system.Random{}, w.key, w.memory.OfRuns(), opts)
}

// works lets a worker work until the test ends, or stop is called.
func (w *workshop) works(worker *runs.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		worker.Run(ctx, func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.errs = append(w.errs, err)
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			w.Error("the worker did not end")
		}
	})
	w.Cleanup(stop)
	return stop
}

// start lets one worker work.
func (w *workshop) start() (stop func()) {
	return w.works(w.newWorker(w.store, w.signals, workerSetup))
}

// errors says what workers complained about since it was asked last.
func (w *workshop) errors() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.errs...)
	w.errs = nil
	return err
}

// version stores an active version of lines "id type config" and "a -> b".
func (w *workshop) version(nodes, edges []string) *workflow.Version {
	w.Helper()
	wf, err := workflow.New(workflow.ID(system.Random{}.ID("wf")), w.owner, "", workflow.Draft{Name: system.Random{}.ID("name")}, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	ver := workflow.RestoreVersion(workflow.VersionState{
		ID: workflow.VersionID(system.Random{}.ID("wfv")), Workflow: wf.ID(), Tenant: w.owner, Number: 1, Active: true,
		PublishedAt: &now, CreatedAt: now, Revision: 1, Graph: drawn(nodes, edges),
	})
	w.do(func(ctx context.Context, st outbound.Stores) error {
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		return st.Versions.Insert(ctx, ver)
	})
	return ver
}

// drawn reads lines of "id type config" and of "source[.outputKey] -> target [condition]".
func drawn(nodes, edges []string) workflow.Graph {
	var drawnNodes []workflow.Node
	for _, line := range nodes {
		id, rest, _ := strings.Cut(line, " ")
		kind, config, found := strings.Cut(rest, " ")
		if !found {
			config = "{}"
		}
		drawnNodes = append(drawnNodes, workflow.Node{
			ID: workflow.NodeID(id), Type: kind, Version: "1.0.0", Name: id, Config: domain.RestoreDocument(config),
		})
	}
	var drawnEdges []workflow.Edge
	for _, line := range edges {
		from, to, _ := strings.Cut(line, " -> ")
		source, key, _ := strings.Cut(from, ".")
		to, condition, _ := strings.Cut(to, " ")
		drawnEdges = append(drawnEdges, workflow.Edge{
			ID: workflow.EdgeID(system.Random{}.ID("edge")), SourceNodeID: workflow.NodeID(source), TargetNodeID: workflow.NodeID(to),
			SourceOutputKey: &key, Condition: &condition,
		})
	}
	return workflow.RestoreGraph(drawnNodes, drawnEdges)
}

// accepted is how a run is started.
type accepted struct {
	retry   trigger.RetryPolicy
	timeout time.Duration
	payload string
}

// accept stores runs of a version, as a call does, and tells of them.
func (w *workshop) accept(ver *workflow.Version, n int, a accepted) []run.ID {
	w.Helper()
	if a.payload == "" {
		a.payload = `{"n": 1}`
	}
	ids := make([]run.ID, n)
	started := make([]*run.Run, n)
	for i := range ids {
		ids[i] = run.ID(system.Random{}.ID(run.IDPrefix))
		r := run.New(ids[i], run.Start{
			Tenant: ver.Tenant(), Workflow: ver.Workflow(), Version: ver.ID(), Entity: "e-1", DedupeKey: string(ids[i]), Cause: run.CauseManual,
			Payload: json.RawMessage(a.payload),
		}, time.Now().UTC().Truncate(time.Millisecond))
		st := r.State()
		if a.retry != (trigger.RetryPolicy{}) {
			st.Retry = a.retry
		}
		if a.timeout != 0 {
			st.Timeout = a.timeout
		}
		started[i] = run.Restore(st)
	}
	w.do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, started...)
		return err
	})
	w.signals.Tell(ids...)
	return ids
}

func (w *workshop) get(id run.ID) (r *run.Run) {
	w.Helper()
	err := w.raw.View(w.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		r, err = st.Runs.Runs.Get(ctx, w.owner, id)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// until waits until something holds of a run; it looks whenever a unit has ended.
func (w *workshop) until(id run.ID, what string, holds func(r *run.Run) bool) *run.Run {
	w.Helper()
	var r *run.Run
	w.eventually(what, func() bool {
		r = w.get(id)
		return holds(r)
	})
	return r
}

func (w *workshop) eventually(what string, holds func() bool) {
	w.Helper()
	deadline := time.After(30 * time.Second)
	for {
		w.store.mu.Lock()
		news := w.store.news
		w.store.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-news:
		case <-time.After(50 * time.Millisecond): // other processes tell nobody
		case <-deadline:
			w.Fatalf("it never came that %s; the worker says: %v", what, w.errors())
		}
	}
}

func is(status run.Status) func(*run.Run) bool {
	return func(r *run.Run) bool { return r.Status() == status }
}

func finished(r *run.Run) bool { return r.Status().Finished() }

// history lists the entries of a run as "type node".
func (w *workshop) history(id run.ID) (list []string) {
	w.Helper()
	err := w.raw.View(w.Context(), func(ctx context.Context, st outbound.Stores) error {
		entries, err := st.Runs.Runs.History(ctx, w.owner, id, 0)
		for i, e := range entries {
			if e.Seq != int64(i+1) {
				w.Errorf("entry %d of %s bears the number %d", i+1, id, e.Seq)
			}
			list = append(list, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Node)))
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// events lists what is to be told of runs, as "type" by the order of their ids.
func (w *workshop) events(id run.ID) (list []string) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.Waiting(ctx, 10000)
		for _, e := range waiting {
			if strings.Contains(e.Data().String(), string(id)) {
				list = append(list, string(e.Type()))
			}
		}
		return err
	})
	return list
}

// act lets somebody else than a worker make a step, and says to whom signals are given.
func (w *workshop) act(ver *workflow.Version, id run.ID, fact run.Fact, signals ...outbound.RunSignals) {
	w.Helper()
	w.actWith(ver, id, fact, nil, signals...)
}

// plan makes a version ready, for a tenant with some custom nodes.
func (w *workshop) plan(ver *workflow.Version, types []string) *run.Plan {
	w.Helper()
	var custom []*node.Custom
	for _, name := range types {
		c, err := node.NewCustom("cn_1", w.owner, node.CustomDraft{Type: name, Name: name, Version: "1.0.0", CanPause: true}, time.Now())
		if err != nil {
			w.Fatal(err)
		}
		custom = append(custom, c)
	}
	return run.NewPlan(ver.ID(), ver.Graph(), node.RegistryFor(w.owner, tenant.English, nil, custom), expression.Compiler{})
}

// actWith is act where the tenant has custom nodes.
func (w *workshop) actWith(ver *workflow.Version, id run.ID, fact run.Fact, types []string, signals ...outbound.RunSignals) {
	w.Helper()
	plan := w.plan(ver, types)
	w.do(func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, w.owner, id)
		if err != nil {
			return err
		}
		now, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		from := r.Seq()
		step, err := r.Advance(plan, run.Event{At: now, Secret: w.key.Secret(id), Fact: fact})
		if err == nil && step.Refused != nil {
			err = step.Refused
		}
		if err != nil {
			return err
		}
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
	})
	for _, s := range signals {
		s.Tell(id)
	}
}

// plenty is as much memory as anybody could want.
func plenty() outbound.Budgets { return budget.Divide(1<<40, 2).OfRuns() }
