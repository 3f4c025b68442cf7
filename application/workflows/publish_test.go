package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// press publishes the versions of a house.
type press struct {
	*env
	publishing *workflows.Versions
}

func newPress(t testing.TB, store *sqlstore.Store) *press {
	t.Helper()
	p := &press{env: newEnv(t, store)}
	p.publishing = p.over(store)
	p.do(func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Workflows.NextVersion(ctx, p.who.Scope, p.version.Workflow()); err != nil { // that of the version that is there
			return err
		}
		state := p.version.State()
		state.Active = true
		return st.Versions.Update(ctx, workflow.RestoreVersion(state))
	})
	return p
}

// over publishes over a store.
func (p *press) over(store outbound.UnitOfWork) *workflows.Versions {
	return workflows.NewVersions(store, directory.New(store), expression.Checker{}, system.Clock{}, system.Random{})
}

// draft stores a version that can be published, with further nodes.
func (p *press) draft(more ...workflow.NodeDraft) workflow.VersionID {
	p.Helper()
	nodes := append([]workflow.NodeDraft{{
		ID: "a", Type: "transform", Version: "1.0.0", Name: "A", Config: domain.RestoreDocument(`{"transformType":"expression","expression":"1"}`),
	}}, more...)
	var edges []workflow.EdgeDraft
	for _, n := range more {
		edges = append(edges, workflow.EdgeDraft{SourceNodeID: n.ID, TargetNodeID: "a"})
	}
	made, err := p.publishing.Create(p.Context(), p.who, domain.IdempotencyKey{}, inbound.VersionDraft{
		Workflow: p.version.Workflow(), VersionDraft: workflow.VersionDraft{Nodes: nodes, Edges: edges},
	})
	if err != nil {
		p.Fatal(err)
	}
	return made.ID()
}

// trigger stores a trigger of type webhook.
func (p *press) trigger(of workflow.VersionID, name string, active bool) trigger.ID {
	p.Helper()
	return p.triggerOf(trigger.Webhook, "{}", of, name, active)
}

func (p *press) triggerOf(kind trigger.Type, config string, of workflow.VersionID, name string, active bool) trigger.ID {
	p.Helper()
	id, now := trigger.ID(system.Random{}.ID(trigger.IDPrefix)), time.Now()
	p.do(func(ctx context.Context, st outbound.Stores) error {
		return st.Triggers.Insert(ctx, trigger.Restore(trigger.State{
			ID: id, Tenant: p.who.Tenant(), Version: of, Name: name, Type: kind, Config: trigger.RestoreConfig(config), Active: active, ActivatedAt: now, CreatedAt: now, UpdatedAt: now, Revision: 1,
		}))
	})
	return id
}

func (p *press) publish(id workflow.VersionID, asked trigger.PublishOptions) inbound.Published {
	p.Helper()
	published, err := p.publishing.Publish(p.Context(), p.who, domain.IdempotencyKey{}, id, asked)
	if err != nil {
		p.Fatal(err)
	}
	return published
}

func (p *press) attached(id trigger.ID) (trg *trigger.Trigger) {
	p.Helper()
	p.do(func(ctx context.Context, st outbound.Stores) (err error) {
		trg, err = st.Triggers.Get(ctx, p.who.Scope, id)
		return err
	})
	return trg
}

// events lists those that wait, without their times and identifiers.
func (p *press) events() (list []string) {
	p.Helper()
	p.do(func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.PendingFanOut(ctx, 99, "")
		list = nil
		for _, e := range waiting {
			data := e.Data().String()
			if at := strings.Index(data, `"name"`); at > 0 {
				list = append(list, string(e.Type())+" "+data[at:])
			} else {
				list = append(list, string(e.Type()))
			}
		}
		return err
	})
	slices.Sort(list)
	return list
}

var leave, move = tenant.LeaveTriggers, tenant.MoveTriggers

func TestWhatIsLeftBehindAndCouldFireIsTold(t *testing.T) {
	const told = `trigger.disabled "name":"Paid","reason":"version_not_active"}`
	for claim, c := range map[string]struct {
		asked  trigger.PublishOptions
		paused bool // the workflow is inactive
		want   []string
		moved  int
	}{
		"moved":                       {trigger.PublishOptions{}, false, []string{"workflow.published"}, 2},
		"left":                        {trigger.PublishOptions{Triggers: &leave}, false, []string{told, "workflow.published"}, 0},
		"left, and could not fire":    {trigger.PublishOptions{Triggers: &leave}, true, []string{"workflow.published"}, 0},
		"moved, without being active": {trigger.PublishOptions{}, true, []string{"workflow.published"}, 2},
	} {
		t.Run(claim, func(t *testing.T) {
			eachStore(t, func(t *testing.T, store *sqlstore.Store) {
				p := newPress(t, store)
				active, inactive := p.trigger(p.version.ID(), "Paid", true), p.trigger(p.version.ID(), "Lost", false)
				if c.paused {
					if _, err := p.workflows.Toggle(t.Context(), p.who, p.version.Workflow(), domain.Expected{}); err != nil {
						t.Fatal(err)
					}
				}
				to := p.draft()
				published := p.publish(to, c.asked)
				if diff := cmp.Diff(c.want, p.events()); diff != "" {
					t.Errorf("the events: %s", diff)
				}
				if len(published.Moved) != c.moved || len(published.Left) != 2-c.moved {
					t.Errorf("%v are moved, and %v left", published.Moved, published.Left)
				}
				for i, id := range []trigger.ID{active, inactive} {
					trg := p.attached(id)
					if wantLeft := c.moved == 0 && i == 0 && !c.paused; (trg.Version() == to) != (c.moved > 0) || trg.LeftBehind() != wantLeft {
						t.Errorf("trigger %d is attached to %s, and left behind: %v", i, trg.Version(), trg.LeftBehind())
					}
				}
				if again := p.publish(to, trigger.PublishOptions{Triggers: &move}); len(again.Moved)+len(again.Left) > 0 {
					t.Errorf("published again: %v, %v", again.Moved, again.Left)
				}
			})
		})
	}
}

// naming is a node that stands for a trigger.
func naming(id trigger.ID) workflow.NodeDraft {
	return workflow.NodeDraft{ID: "start", Type: "trigger_webhook", Version: "1.0.0", Name: "Start", Config: domain.RestoreDocument(fmt.Sprintf(`{"_triggerId":%q}`, id))}
}

func TestAVersionIsCheckedWithTheTriggersThatItGets(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		id := p.trigger(p.version.ID(), "Paid", true)
		to := p.draft(naming(id))
		stay := trigger.PublishOptions{Triggers: &leave}
		for _, asked := range []trigger.PublishOptions{stay, {}} {
			found, err := p.publishing.Validate(t.Context(), p.who, domain.IdempotencyKey{}, to, asked)
			if wantFound := asked.Triggers != nil; err != nil || len(found.Details) > 0 != wantFound {
				t.Errorf("%v: validating finds %v, %v", asked, found.Details, err)
			}
		}
		_, err := p.publishing.Publish(t.Context(), p.who, domain.IdempotencyKey{}, to, stay)
		p.wantCode(err, "version_not_publishable")
		p.publish(to, trigger.PublishOptions{})
		if trg := p.attached(id); trg.Version() != to {
			t.Errorf("it is attached to %s", trg.Version())
		}
	})
}

// meddler does something once, before the first unit that writes.
type meddler struct {
	outbound.UnitOfWork
	once   sync.Once
	before func()
}

func (m *meddler) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	m.once.Do(m.before)
	return m.UnitOfWork.Do(ctx, fn)
}

func TestATriggerThatIsGoneBeforeThePublishIsCheckedAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		id := p.trigger(p.version.ID(), "Paid", true)
		to := p.draft(naming(id))
		meddled := p.over(&meddler{UnitOfWork: store, before: func() {
			p.do(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Delete(ctx, p.who.Scope, id) })
		}})
		_, err := meddled.Publish(t.Context(), p.who, domain.IdempotencyKey{}, to, trigger.PublishOptions{})
		p.wantCode(err, "version_not_publishable")
		if list := p.events(); len(list) > 0 {
			t.Errorf("it is told of: %v", list)
		}
	})
}

// Whichever version was published meanwhile: its triggers are what moves.
func TestAPublishThatComesLaterMovesWhatIsThere(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		id := p.trigger(p.version.ID(), "Paid", true)
		to, first := p.draft(), p.draft()
		var added trigger.ID
		meddled := p.over(&meddler{UnitOfWork: store, before: func() {
			p.publish(first, trigger.PublishOptions{})
			added = p.trigger(first, "Lost", true)
		}})
		published, err := meddled.Publish(t.Context(), p.who, domain.IdempotencyKey{}, to, trigger.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]trigger.ID{id, added}, published.Moved); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOfTwoRollbacksAtOnceNoneUndoesTheOther(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		first, second := p.draft(), p.draft()
		p.publish(first, trigger.PublishOptions{})
		p.publish(second, trigger.PublishOptions{})
		rollback := func(over *workflows.Versions) workflow.VersionID {
			got, err := over.Rollback(t.Context(), p.who, domain.IdempotencyKey{}, p.version.Workflow(), trigger.PublishOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Active() {
				t.Error("it is not active")
			}
			return got.ID()
		}
		var inBetween workflow.VersionID
		meddled := p.over(&meddler{UnitOfWork: store, before: func() { inBetween = rollback(p.publishing) }})
		if got := rollback(meddled); got != first || inBetween != first {
			t.Errorf("they go back to %s and %s, not to %s", got, inBetween, first)
		}
		if got := rollback(p.publishing); got != second {
			t.Errorf("the next one goes to %s, not to %s", got, second)
		}
		p.do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Delete(ctx, p.who.Scope, first)
		})
		_, err := p.publishing.Rollback(t.Context(), p.who, domain.IdempotencyKey{}, p.version.Workflow(), trigger.PublishOptions{})
		p.wantCode(err, "version_not_publishable") // the one before is empty
		_, err = p.publishing.Rollback(t.Context(), p.who, domain.IdempotencyKey{}, "wf_absent", trigger.PublishOptions{})
		p.wantCode(err, "workflow_not_found")
	})
}

// A repeat is answered as the first request was, whichever version was active before by now.
func TestARepeatedRollbackDoesNotGoForthAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		first, second := p.draft(), p.draft()
		p.publish(first, trigger.PublishOptions{})
		p.publish(second, trigger.PublishOptions{})
		idempotency := domain.IdempotencyKey{Scope: "POST /rollback", Key: "k", Fingerprint: "f", Answer: func(outcome any) ([]byte, error) {
			published, _ := outcome.(inbound.Published)
			return []byte(published.ID()), nil
		}}
		for i := range 3 {
			_, err := p.publishing.Rollback(t.Context(), p.who, idempotency, p.version.Workflow(), trigger.PublishOptions{})
			var before *domain.Replay
			if i == 0 && err != nil || i > 0 && (!errors.As(err, &before) || string(before.Answer) != string(first)) {
				t.Errorf("rollback %d: %v", i, err)
			}
		}
	})
}

func TestHoweverManyVersionsArePublishedAtOnceTheActiveOneHasTheTriggers(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		p := newPress(t, store)
		const publishers, rounds = 4, 5
		ids := []trigger.ID{p.trigger(p.version.ID(), "Paid", true), p.trigger(p.version.ID(), "Lost", true)}
		var done sync.WaitGroup
		for range publishers {
			version := p.draft()
			done.Go(func() {
				for range rounds {
					if _, err := p.publishing.Publish(t.Context(), p.who, domain.IdempotencyKey{}, version, trigger.PublishOptions{Triggers: &move}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		var active outbound.FiringVersion
		p.do(func(ctx context.Context, st outbound.Stores) (err error) {
			active, err = st.Firing.Version(ctx, p.who.Scope, p.version.Workflow(), "")
			return err
		})
		for _, id := range ids {
			if trg := p.attached(id); trg.Version() != active.Version || trg.LeftBehind() {
				t.Errorf("%s is attached to %s, and %s is active", id, trg.Version(), active.Version)
			}
		}
	})
}

// rerun counts how often units were begun again because they met each other.
type rerun struct {
	outbound.UnitOfWork
	n atomic.Int64
}

func (r *rerun) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	r.n.Add(-1)
	return r.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		r.n.Add(1)
		return fn(ctx, st)
	})
}

// Who publishes, who changes triggers and who fires their schedules hold what they need in
// the same order: they wait for one another, and nobody has to begin again.
func TestPublishingMeetsNobodyInADeadlock(t *testing.T) {
	p := newPress(t, openPostgres(t))
	counted := &rerun{UnitOfWork: p.store}
	publishing, changing := p.over(counted), triggers.New(counted, nil, sqlstore.NewTriggerInserter(p.store), expression.Checker{}, nil, system.Clock{}, system.Random{})
	scheduler := schedules.NewScheduler(counted, nil, p.notified, system.Clock{}, system.Random{}, execution.NewAllowance(system.Clock{}, nil))
	const rounds = 25
	// All of them first: a trigger that is attached once its version has been replaced stays there.
	versions := []workflow.VersionID{p.draft(), p.draft()}
	var changed []trigger.ID
	for range 3 {
		changed = append(changed, p.triggerOf(trigger.Scheduled, `{"scheduleConfig":{"intervalMs":60000}}`, p.version.ID(), "Scheduled", true))
	}
	due := p.triggerOf(trigger.Scheduled, `{"scheduleConfig":{"intervalMs":60000,"catchUp":"all"}}`, p.version.ID(), "Due", true)
	var done sync.WaitGroup
	for _, version := range versions {
		done.Go(func() {
			for range rounds {
				if _, err := publishing.Publish(t.Context(), p.who, domain.IdempotencyKey{}, version, trigger.PublishOptions{Triggers: &move}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, id := range changed {
		done.Go(func() {
			for i := range rounds {
				active := i%2 == 1
				if _, err := changing.Update(t.Context(), p.who, id, domain.Expected{}, trigger.Patch{Active: &active}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Go(func() {
		for i := range rounds {
			at := time.Now().Add(-time.Duration(i+2) * time.Minute)
			p.do(func(ctx context.Context, st outbound.Stores) error {
				return st.Schedules.Advance(ctx, []outbound.ScheduleProgress{{Tenant: p.who.Tenant(), Trigger: due, ProcessedUntil: at, Next: at}})
			})
			if _, err := scheduler.FireDue(t.Context(), 100); err != nil {
				t.Error(err)
			}
		}
	})
	done.Wait()
	if n := counted.n.Load(); n > 0 {
		t.Errorf("%d units were begun again", n)
	}
	if trg := p.attached(due); trg.LeftBehind() || trg.Version() == p.version.ID() {
		t.Errorf("the schedule is attached to %s, and left behind: %v", trg.Version(), trg.LeftBehind())
	}
}
