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

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// desk is a gateway where runs are started and looked at, and nobody works on them
// unless a test does.
type desk struct {
	*workshop
	who    tenant.Caller
	clock  *portstest.ManualClock
	firing *runs.Firing
	runs   *runs.Runs
	told   *toldOf
}

// toldOf keeps which runs were told of.
type toldOf struct {
	outbound.RunSignals
	mu  sync.Mutex
	ids []run.ID
}

func (s *toldOf) Tell(changed ...run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, changed...)
	s.RunSignals.Tell(changed...)
}

// since returns what was told since it was asked last.
func (s *toldOf) since() (ids []run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, s.ids = s.ids, nil
	return ids
}

func newDesk(t testing.TB, store *sqlstore.Store) *desk {
	t.Helper()
	d := &desk{workshop: newWorkshop(t, store), clock: &portstest.ManualClock{}}
	d.clock.Set(time.Now().UTC().Truncate(time.Millisecond))
	d.told = &toldOf{RunSignals: d.signals}
	d.who = secret(d.owner)
	known := directory.New(store)
	known.Trust(true)
	d.firing = runs.NewFiring(d.store, known, expression.Compiler{}, d.told, memory.New(d.clock), d.clock, system.Random{}, d.key, plenty(), 10<<30)
	d.runs = runs.NewRuns(d.store, known, expression.Compiler{}, d.told, d.clock, system.Random{}, d.key, plenty())
	return d
}

func secret(owner tenant.ID) tenant.Caller {
	return tenant.Caller{Tenant: owner, KeyType: tenant.Secret}
}

// atDesk runs a test on both databases.
func atDesk(t *testing.T, test func(d *desk)) {
	t.Helper()
	onBoth(t, func(t *testing.T, store *sqlstore.Store) { test(newDesk(t, store)) })
}

// trigger attaches a trigger of type webhook to a version, with a configuration.
func (d *desk) trigger(ver *workflow.Version, config string, change ...func(*trigger.State)) *trigger.Trigger {
	d.Helper()
	now := d.clock.Now()
	st := trigger.State{
		ID: trigger.ID(system.Random{}.ID(trigger.IDPrefix)), Tenant: ver.Tenant(), SubTenant: ver.SubTenant(), Version: ver.ID(), Name: "Paid",
		Type: trigger.Webhook, Config: trigger.RestoreConfig(config), Active: true, ActivatedAt: now, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	for _, c := range change {
		c(&st)
	}
	trg := trigger.Restore(st)
	d.do(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
	return trg
}

// simple is a version whose runs compute something, with a trigger.
func (d *desk) simple(config string) *trigger.Trigger {
	return d.trigger(d.version([]string{`a transform {"expression": "1"}`}, nil), config)
}

// call fires a trigger, which must be possible.
func (d *desk) call(trg *trigger.Trigger, c run.Call) run.Fired {
	d.Helper()
	fired, err := d.firing.Call(d.Context(), d.who, domain.Once{}, trg.ID(), c)
	if err != nil {
		d.Fatal(err)
	}
	return fired
}

// of lists the runs of the tenant, the oldest first.
func (d *desk) of(owner tenant.ID) []run.Summary {
	d.Helper()
	page, err := domain.NewPageRequest(100, 0)
	if err != nil {
		d.Fatal(err)
	}
	found, err := d.runs.List(d.Context(), secret(owner), run.Filter{}, domain.Query{PageRequest: page, Sorting: domain.Sorting{Ascending: true}})
	if err != nil {
		d.Fatal(err)
	}
	return found.Items
}

// begin does what a worker would: it begins a run and goes as far as that goes without
// anything outside.
func (d *desk) begin(id run.ID) *run.Run { return d.happens(id, run.Started{}) }

// happens lets something happen to a run now.
func (d *desk) happens(id run.ID, fact run.Fact) (r *run.Run) {
	d.Helper()
	d.do(func(ctx context.Context, st outbound.Stores) (err error) {
		if r, err = st.Runs.Runs.Get(ctx, d.owner, id); err != nil {
			return err
		}
		ver, err := st.Versions.Get(ctx, d.owner, r.Version())
		if err != nil {
			return err
		}
		at, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		registry := node.RegistryFor(d.owner, tenant.English, nil, nil)
		from := r.Seq()
		step, err := r.Advance(run.NewPlan(ver.ID(), ver.Graph(), registry, expression.Compiler{}), run.Event{At: at, Secret: d.key.Secret(id), Fact: fact})
		if err != nil || step.Refused != nil {
			return errors.Join(err, step.Refused)
		}
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
	})
	return r
}

// code of an error, which must be one of the domain's.
func code(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return e.Code
}

func (d *desk) wantCode(err error, kind domain.Kind, want string) {
	d.Helper()
	if !errors.Is(err, kind) || code(err) != want {
		d.Errorf("the error is %v, not %s (%s)", err, want, kind)
	}
}

func (d *desk) same(want, got any) {
	d.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		d.Error(diff)
	}
}

// keyed asks for a command to have its effect once; the answer is the outcome as Go
// prints it.
func keyed(key string) domain.Once {
	return domain.Once{Scope: "POST /x", Key: key, Fingerprint: "f", Answer: func(outcome any) ([]byte, error) { return []byte(fmt.Sprint(outcome)), nil }}
}

// replayed is what a repeat of a command gets.
func replayed(err error) string {
	var replay *domain.Replay
	if !errors.As(err, &replay) {
		return fmt.Sprintf("no replay, but %v", err)
	}
	return string(replay.Answer)
}

func text(s string) *string { return &s }

func body(s string) json.RawMessage { return json.RawMessage(s) }

// lines makes one text of what is compared at a glance.
func lines[T any](list []T, show func(T) string) string {
	var all []string
	for _, one := range list {
		all = append(all, show(one))
	}
	return strings.Join(all, ", ")
}

// versionOf is the version that a trigger belongs to.
func (d *desk) versionOf(trg *trigger.Trigger) (ver *workflow.Version) {
	d.Helper()
	d.do(func(ctx context.Context, st outbound.Stores) (err error) {
		ver, err = st.Versions.Get(ctx, trg.Tenant(), trg.Version())
		return err
	})
	return ver
}
