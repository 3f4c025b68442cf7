package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// rotation is a workflow whose versions are published in turns, next to what is expected of
// the schedules.
type rotation struct {
	*env
	who              tenant.Caller
	publishing       *workflows.Versions
	triggers         *triggers.Service
	workflow         workflow.ID
	versions         []workflow.VersionID
	active, previous int // of the versions; -1 for none
	schedules        []*expectation
}

// expectation is what the ledger of a schedule has to hold.
type expectation struct {
	trigger *trigger.Trigger
	version int
	held    bool // its instants are written down
	dealt   time.Time
	ledger  []string
}

func newRotation(w *env, versions int) *rotation {
	w.Helper()
	r := &rotation{env: w, who: tenant.Caller{Scope: tenant.All(w.tenant.ID()), KeyType: tenant.Secret}, active: -1, previous: -1}
	r.publishing = workflows.NewVersions(w.store, directory.New(w.store), expression.Checker{}, w.clock, counted)
	r.triggers = triggers.New(w.store, nil, sqlstore.NewTriggerInserter(w.store), expression.Checker{}, nil, w.clock, counted)
	wf, err := workflow.New(workflow.ID(counted.ID("wf")), w.tenant.ID(), "", workflow.Draft{Name: "In turns"}, w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	r.workflow = wf.ID()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		r.versions = nil
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		for i := range versions {
			ver, err := workflow.NewVersion(workflow.VersionID(counted.ID("wfv")), wf, i+1, workflow.VersionDraft{Nodes: []workflow.NodeDraft{{
				ID: "a", Type: "transform", Version: "1.0.0", Name: "A", Config: domain.RestoreDocument(`{"transformType":"expression","expression":"1"}`),
			}}}, nil, w.clock.Now())
			if err != nil {
				return err
			}
			r.versions = append(r.versions, ver.ID())
			if err := st.Versions.Insert(ctx, ver); err != nil {
				return err
			}
		}
		return nil
	})
	return r
}

// schedule attaches a schedule to a version.
func (r *rotation) schedule(version int, config string) {
	r.Helper()
	doc := domain.RestoreDocument(`{"scheduleConfig":` + config + `}`)
	trg, err := trigger.New(trigger.ID(counted.ID("trg")), r.tenant.ID(), trigger.References{VersionExists: true},
		trigger.Draft{Version: r.versions[version], Name: "Scheduled", Type: trigger.Scheduled, Config: &doc}, r.clock.Now())
	if err != nil {
		r.Fatal(err)
	}
	r.do(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
	r.schedules = append(r.schedules, &expectation{trigger: trg, version: version, held: version == r.active, dealt: r.clock.Now()})
}

// publish publishes a version, and expects what becomes of the schedules.
func (r *rotation) publish(version int, asked tenant.TriggersOnPublish) {
	r.Helper()
	if _, err := r.publishing.Publish(r.Context(), r.who, domain.IdempotencyKey{}, r.versions[version], onPublish(asked)); err != nil {
		r.Fatal(err)
	}
	r.expectActive(version, asked)
}

func (r *rotation) rollback(asked tenant.TriggersOnPublish) {
	r.Helper()
	_, err := r.publishing.Rollback(r.Context(), r.who, domain.IdempotencyKey{}, r.workflow, onPublish(asked))
	var refused *domain.Error
	switch {
	case r.previous < 0:
		if !errors.As(err, &refused) || refused.Code != "no_previous_version" {
			r.Fatalf("a rollback to nothing: %v", err)
		}
	case err != nil:
		r.Fatal(err)
	default:
		r.expectActive(r.previous, asked)
	}
}

func onPublish(asked tenant.TriggersOnPublish) (o trigger.PublishOptions) {
	if asked != "" {
		o.Triggers = &asked
	}
	return o
}

func (r *rotation) expectActive(version int, asked tenant.TriggersOnPublish) {
	if version == r.active {
		return
	}
	moves := asked == tenant.MoveTriggers || asked == "" && !slices.ContainsFunc(r.schedules, func(e *expectation) bool { return e.version == version })
	for _, e := range r.schedules {
		if moves && e.version == r.active {
			e.version = version
		}
		if e.version == version {
			e.hold(r.clock.Now())
		}
	}
	r.active, r.previous = version, r.active
}

// hold expects the instants of a schedule from now on, unless they are expected already.
func (e *expectation) hold(now time.Time) {
	if !e.held {
		e.held, e.dealt = true, now
	}
}

// attach attaches a schedule to another version.
func (r *rotation) attach(e *expectation, version int) {
	r.Helper()
	patch := trigger.Patch{Target: &trigger.Target{Version: r.versions[version]}}
	if _, err := r.triggers.Update(r.Context(), r.who, e.trigger.ID(), domain.Expected{}, patch); err != nil {
		r.Fatal(err)
	}
	if version == e.version {
		return
	}
	if version == r.active {
		e.hold(r.clock.Now())
	} else if e.version != r.active {
		e.held = false // it could not fire, and nobody left it behind
	}
	e.version = version
}

// look lets happen what is due, and expects it.
func (r *rotation) look() {
	r.Helper()
	now := r.clock.Now()
	r.fire(now)
	for _, e := range r.schedules {
		if !e.held {
			continue
		}
		times, _ := e.trigger.Schedule()
		for next, ok := times.Next(e.dealt); ok && !next.At.After(now); next, ok = times.Next(next.At) {
			outcome := "suppressed"
			if e.version == r.active {
				outcome = "run of version " + fmt.Sprint(e.version)
			}
			e.ledger = append(e.ledger, next.At.Format("02 15:04:05 ")+outcome)
		}
		e.dealt = now
	}
}

// check compares the ledgers with what is expected.
func (r *rotation) check(fail func(format string, args ...any)) {
	r.Helper()
	for i, e := range r.schedules {
		var got []string
		for _, f := range r.fires(e.trigger) {
			outcome := string(f.Outcome())
			if f.Outcome() == trigger.Suppressed && f.Reason() != "version_not_active" {
				outcome += ": " + f.Reason()
			}
			if started, ok := r.runs.get(f.RunID()); ok {
				outcome = "run of version " + fmt.Sprint(slices.Index(r.versions, started.Version()))
			}
			got = append(got, f.At().Format("02 15:04:05 ")+outcome)
		}
		if diff := cmp.Diff(e.ledger, got); diff != "" {
			fail("schedule %d: %s", i, diff)
		}
	}
}

func TestWhoIsLeftBehindIsWrittenDownAndWhoMovesFires(t *testing.T) {
	onEachStore(t, func(w *env) {
		r := newRotation(w, 3)
		r.schedule(0, `{"cron":"*/10 * * * *","catchUp":"all"}`)
		r.schedule(0, `{"intervalMs":420000,"catchUp":"all"}`)
		r.schedule(2, `{"cron":"0 * * * *","catchUp":"all"}`)
		r.publish(0, "")
		r.clock.Set(noon.Add(9 * time.Minute))
		r.look()
		r.clock.Set(noon.Add(10*time.Minute + time.Second)) // due, and nobody has looked
		r.publish(1, "")
		r.clock.Set(noon.Add(20 * time.Minute))
		r.look()
		r.publish(2, "") // which has one of its own
		r.clock.Set(noon.Add(65 * time.Minute))
		r.look()
		r.clock.Set(noon.Add(70*time.Minute + time.Second))
		r.rollback("")
		r.clock.Set(noon.Add(125 * time.Minute))
		r.look()
		r.check(w.Errorf)
		want := []string{"01 13:00:00 run of version 2", "01 14:00:00 suppressed"}
		if diff := cmp.Diff(want, r.schedules[2].ledger); diff != "" {
			w.Errorf("of the one of version 2 is expected: %s", diff)
		}
		if first := r.schedules[0].ledger; len(first) != 12 || first[0] != "01 12:10:00 run of version 1" || first[2] != "01 12:30:00 suppressed" || first[6] != "01 13:10:00 run of version 1" {
			w.Errorf("of the first one is expected %v", first)
		}
	})
}

// act is something that is done in a rotation; what it takes of the numbers depends on it.
type act struct {
	kind    string
	number  int
	other   int
	asked   tenant.TriggersOnPublish
	seconds int
}

func drawActs(least int) *rapid.Generator[[]act] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
		return act{
			kind:    rapid.SampledFrom([]string{"wait", "wait", "look", "look", "publish", "publish", "rollback", "attach", "schedule"}).Draw(t, "kind"),
			number:  rapid.IntRange(0, 99).Draw(t, "number"),
			other:   rapid.IntRange(0, 99).Draw(t, "other"),
			asked:   rapid.SampledFrom([]tenant.TriggersOnPublish{"", "", tenant.MoveTriggers, tenant.LeaveTriggers}).Draw(t, "asked"),
			seconds: rapid.IntRange(0, 90*60).Draw(t, "seconds"),
		}
	}), least, 25)
}

func (r *rotation) carryOut(a act) {
	r.Helper()
	const versions = 3
	switch a.kind {
	case "wait":
		r.clock.Set(r.clock.Now().Add(time.Duration(a.seconds) * time.Second))
	case "look":
		r.look()
	case "publish":
		r.publish(a.number%versions, a.asked)
	case "rollback":
		r.rollback(a.asked)
	case "attach":
		if len(r.schedules) > 0 {
			r.attach(r.schedules[a.number%len(r.schedules)], a.other%versions)
		}
	case "schedule":
		configs := []string{`{"cron":"*/7 * * * *","catchUp":"all"}`, `{"intervalMs":600000,"catchUp":"all"}`, `{"cron":"30 2,12,13 * * *","timezone":"Europe/Berlin","catchUp":"all"}`}
		r.schedule(a.number%versions, configs[a.other%len(configs)])
	}
}

// rotate carries out what was drawn with a tenant of its own, and takes that away afterwards.
func rotate(w *env, acts []act, fail func(format string, args ...any)) {
	w.Helper()
	w.clock.Set(noon)
	r := newRotation(w.withTenant(), 3)
	r.schedule(0, `{"cron":"*/7 * * * *","catchUp":"all"}`)
	for _, a := range acts {
		r.carryOut(a)
	}
	r.look()
	r.check(fail)
	r.do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, r.tenant.ID()) })
}

// Whatever is published, rolled back and attached, whenever that is and however late somebody
// looks: each instant of a schedule that fires or was left behind is in the ledger, once, with
// a run of the version that was active, or without one.
func TestNoInstantIsMissedOrDoubledAcrossVersions(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		w := newEnv(t, openSQLite(t))
		rapid.Check(t, func(t *rapid.T) { rotate(w, drawActs(1).Draw(t, "acts"), t.Fatalf) })
	})
	t.Run("postgres", func(t *testing.T) {
		w := onPostgres(t)
		for seed := range 20 {
			rotate(w, drawActs(20).Example(seed), func(format string, args ...any) { t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...) })
		}
	})
}
