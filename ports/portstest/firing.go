package portstest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// published stores a workflow of a tenant with an active version.
func (f fixture) published(owner tenant.ID, sub tenant.SubTenantID) *workflow.Version {
	f.Helper()
	ver := f.version(f.workflow(owner, sub))
	f.publish(ver)
	return ver
}

// listening stores a trigger of type webhook that listens for an event.
func (f fixture) listening(ver *workflow.Version, event string, change ...func(*trigger.State)) *trigger.Trigger {
	f.Helper()
	st := triggerState(ver)
	st.Type, st.Config = trigger.Webhook, trigger.RestoreConfig(fmt.Sprintf(`{"webhookConfig":{"event":%q}}`, event))
	for _, c := range change {
		c(&st)
	}
	trg := trigger.Restore(st)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
	return trg
}

func (f fixture) patch(trg *trigger.Trigger, p trigger.Patch) {
	f.Helper()
	if err := trg.Revise(p, tenant.Settings{}, noon); err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Update(ctx, trg) })
}

// firing is what a repository says of a trigger.
type firing struct {
	Trigger  trigger.State
	Workflow workflow.ID
	Standing trigger.ParentState
}

func firingOf(found outbound.FiringTrigger) firing {
	return firing{found.Trigger.State(), found.Workflow, found.ParentState}
}

func (f fixture) firing(owner tenant.ID, id trigger.ID) (found firing, err error) {
	err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		one, err := st.Firing.Trigger(ctx, tenant.All(owner), id)
		if err == nil {
			found = firingOf(one)
		}
		return err
	})
	return found, err
}

// onEvent lists the triggers that an event fires.
func (f fixture) onEvent(owner tenant.ID, event string, sub *tenant.SubTenantID, limit int) (ids []trigger.ID) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		ids = nil
		found, err := st.Firing.OnEvent(ctx, tenant.All(owner), outbound.EventQuery{Event: event, SubTenant: sub, Limit: limit})
		for _, one := range found {
			ids = append(ids, one.Trigger.ID())
		}
		return err
	})
	return ids
}

// FiringRepository is the contract of outbound.FiringRepository.
func FiringRepository(t *testing.T, open OpenStore) {
	firingTriggers(t, open)
	eventTriggers(t, open)
	firingVersions(t, open)
}

func firingTriggers(t *testing.T, open OpenStore) {
	can := trigger.ParentState{WorkflowActive: true, VersionActive: true}
	off := false
	cases(t, open, map[string]func(f fixture){
		"a trigger comes with its workflow and whether it can fire": func(f fixture) {
			ver := f.published(f.tenant().ID(), "team")
			trg := f.listening(ver, "paid")
			want := firing{trg.State(), ver.Workflow(), can}
			check := func() {
				f.Helper()
				got, err := f.firing(trg.Tenant(), trg.ID())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					f.Error(diff, err)
				}
			}
			check()
			f.patch(trg, trigger.Patch{Active: &off})
			want.Trigger = trg.State()
			check()
			f.deactivate(ver)
			want.Standing.WorkflowActive = false
			check()
			draft := f.version(f.workflow(ver.Tenant(), ""))
			other := f.listening(draft, "paid")
			want = firing{other.State(), draft.Workflow(), trigger.ParentState{WorkflowActive: true}}
			trg = other
			check()
		},
		"a trigger of another tenant is as if it did not exist": func(f fixture) {
			trg, other := f.listening(f.published(f.tenant().ID(), ""), "paid"), f.tenant().ID()
			_, err := f.firing(other, trg.ID())
			f.wantError(err, domain.NotFound, "trigger_not_found")
			if _, absent := f.firing(other, "trg_absent"); err.Error() != absent.Error() {
				f.Errorf("%q differs from %q", err, absent)
			}
			if got := f.onEvent(other, "paid", nil, 9); len(got) > 0 {
				f.Errorf("its event fires %v", got)
			}
		},
		"among many there are those that cannot fire, which is told": func(f fixture) {
			ver, draft := f.published(f.tenant().ID(), ""), f.version(f.workflow(f.tenant().ID(), ""))
			all := []*trigger.Trigger{f.listening(ver, "paid"), f.listening(ver, "paid", func(st *trigger.State) { st.Active = false }), f.listening(draft, "paid")}
			var want, got []firing
			var keys []outbound.TriggerKey
			for i, trg := range all {
				want = append(want, firing{trg.State(), ver.Workflow(), can})
				keys = append(keys, outbound.KeyOf(trg))
				if i == 2 {
					want[i].Workflow, want[i].Standing = draft.Workflow(), trigger.ParentState{WorkflowActive: true}
				}
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				got = nil
				found, err := st.Firing.Triggers(ctx, keys)
				for _, one := range found {
					got = append(got, firingOf(one))
				}
				return err
			})
			if diff := cmp.Diff(want, got); diff != "" {
				f.Error(diff)
			}
		},
		"triggers of several tenants come in their order": func(f fixture) {
			a, b := f.listening(f.published(f.tenant().ID(), ""), "paid"), f.listening(f.published(f.tenant().ID(), ""), "paid")
			foreign := a.State()
			foreign.Tenant = b.Tenant()
			asked := []outbound.TriggerKey{outbound.KeyOf(b), outbound.KeyOf(trigger.Restore(foreign)), outbound.KeyOf(a), outbound.KeyOf(b)}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Firing.Triggers(ctx, asked)
				if err != nil || len(found) != len(asked) {
					return fmt.Errorf("%d were found: %w", len(found), err)
				}
				for i, want := range []bool{true, false, true, true} {
					if there := found[i].Trigger != nil; there != want || there && (outbound.KeyOf(found[i].Trigger) != asked[i] || found[i].ParentState != can) {
						f.Errorf("%d: %v", i, found[i])
					}
				}
				none, err := st.Firing.Triggers(ctx, nil)
				if len(none) > 0 {
					f.Errorf("nothing became %v", none)
				}
				return err
			})
		},
	})
}

func eventTriggers(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"an event fires what listens for it, the oldest first": func(f fixture) {
			ver := f.published(f.tenant().ID(), "")
			at := func(seconds int) func(*trigger.State) {
				return func(st *trigger.State) { st.CreatedAt = noon.Add(time.Duration(seconds) * time.Second) }
			}
			c, a, b := f.listening(ver, "paid", at(2)), f.listening(ver, "paid", at(0)), f.listening(ver, "paid", at(0))
			f.listening(ver, "Paid")
			f.listening(ver, "paid ")
			f.listening(ver, "paid", func(st *trigger.State) { st.Type = trigger.Scheduled })
			f.listening(ver, "paid", func(st *trigger.State) { st.Config = trigger.RestoreConfig(`{"webhookConfig":null}`) })
			f.same([]trigger.ID{a.ID(), b.ID(), c.ID()}, f.onEvent(ver.Tenant(), "paid", nil, 9))
			f.same([]trigger.ID{a.ID()}, f.onEvent(ver.Tenant(), "paid", nil, 1))
			f.same([]trigger.ID(nil), f.onEvent(ver.Tenant(), "other", nil, 9))
		},
		"an event fires only what can fire": func(f fixture) {
			owner := f.tenant().ID()
			ver, inactive, draft := f.published(owner, ""), f.published(owner, ""), f.version(f.workflow(owner, ""))
			f.listening(ver, "paid", func(st *trigger.State) { st.Active = false })
			f.listening(inactive, "paid")
			f.deactivate(inactive)
			f.listening(draft, "paid")
			if got := f.onEvent(owner, "paid", nil, 9); len(got) > 0 {
				f.Errorf("it fires %v", got)
			}
			f.publish(draft)
			if got := f.onEvent(owner, "paid", nil, 9); len(got) != 1 {
				f.Errorf("it fires %v", got)
			}
		},
		"an event finds what has started a run with its dedupe key, also where that cannot fire any more": func(f fixture) {
			owner := f.tenant().ID()
			ver, inactive, draft := f.published(owner, ""), f.published(owner, "a"), f.version(f.workflow(owner, ""))
			free, off := f.listening(ver, "paid"), f.listening(ver, "paid", func(st *trigger.State) { st.Active = false })
			asleep, drafted, other := f.listening(inactive, "paid"), f.listening(draft, "paid"), f.listening(ver, "paid", func(st *trigger.State) { st.Active = false })
			f.deactivate(inactive)
			started := make(map[trigger.ID]run.ID)
			for _, trg := range []*trigger.Trigger{free, off, asleep, drafted} {
				started[trg.ID()] = f.started(owner, keyed(trg.ID(), "k", noon)).ID()
			}
			f.started(owner, keyed(other.ID(), "l", noon))
			f.started(f.tenant().ID(), keyed(other.ID(), "k", noon))
			segment := tenant.SubTenantID("a")
			for _, c := range []struct {
				q    outbound.EventQuery
				want map[trigger.ID]run.ID
			}{
				{outbound.EventQuery{Key: "k"}, started},
				{outbound.EventQuery{Key: "k", SubTenant: &segment}, map[trigger.ID]run.ID{asleep.ID(): started[asleep.ID()]}},
				{outbound.EventQuery{Key: "k", After: noon}, map[trigger.ID]run.ID{free.ID(): ""}},
				{outbound.EventQuery{}, map[trigger.ID]run.ID{free.ID(): ""}},
			} {
				c.q.Event, c.q.Limit = "paid", 9
				f.write(func(ctx context.Context, st outbound.Stores) error {
					got := make(map[trigger.ID]run.ID)
					found, err := st.Firing.OnEvent(ctx, tenant.All(owner), c.q)
					for _, one := range found {
						got[one.Trigger.ID()] = one.Started
					}
					f.same(c.want, got)
					return err
				})
			}
		},
		"an event fires the triggers of a segment": func(f fixture) {
			owner := f.tenant().ID()
			a, none := f.listening(f.published(owner, "a"), "paid"), f.listening(f.published(owner, ""), "paid")
			for sub, want := range map[tenant.SubTenantID][]trigger.ID{"a": {a.ID()}, "": {none.ID()}, "b": nil} {
				f.same(want, f.onEvent(owner, "paid", &sub, 9))
			}
		},
		"what a trigger listens for changes with its configuration": func(f fixture) {
			trg := f.listening(f.published(f.tenant().ID(), ""), `order "é"`)
			f.same([]trigger.ID{trg.ID()}, f.onEvent(trg.Tenant(), `order "é"`, nil, 9))
			other, none := domain.RestoreDocument(`{"webhookConfig":{"event":"b"}}`), domain.RestoreDocument(`{}`)
			f.patch(trg, trigger.Patch{Config: &other})
			f.same([]trigger.ID(nil), f.onEvent(trg.Tenant(), `order "é"`, nil, 9))
			f.same([]trigger.ID{trg.ID()}, f.onEvent(trg.Tenant(), "b", nil, 9))
			f.patch(trg, trigger.Patch{Config: &none})
			f.same([]trigger.ID(nil), f.onEvent(trg.Tenant(), "b", nil, 9))
		},
		"an event that no caller can name is kept all the same": func(f fixture) {
			ver := f.published(f.tenant().ID(), "")
			for _, event := range []string{``, `\u0000`, strings.Repeat("x", 5000)} {
				f.listening(ver, event, func(st *trigger.State) {
					st.Config = trigger.RestoreConfig(`{"webhookConfig":{"event":"` + event + `"}}`)
				})
			}
		},
	})
}

// deactivate switches a version's workflow off.
func (f fixture) deactivate(ver *workflow.Version) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, tenant.All(ver.Tenant()), ver.Workflow())
		if err != nil {
			return err
		}
		wf.Toggle(noon)
		return st.Workflows.Update(ctx, wf)
	})
}

func firingVersions(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a workflow comes with its active version, or with another one of it": func(f fixture) {
			owner := f.tenant().ID()
			wf := f.workflow(owner, "team")
			check := func(named workflow.VersionID, want outbound.FiringVersion) {
				f.Helper()
				want.Workflow, want.SubTenant = wf.ID(), "team"
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Firing.Version(ctx, tenant.All(owner), wf.ID(), named)
					f.same(want, got)
					return err
				})
			}
			check("", outbound.FiringVersion{WorkflowActive: true})
			draft, active := f.version(wf), f.version(wf)
			f.publish(active)
			check("", outbound.FiringVersion{WorkflowActive: true, Version: active.ID(), Published: true})
			check(draft.ID(), outbound.FiringVersion{WorkflowActive: true, Version: draft.ID()})
			check(f.published(owner, "").ID(), outbound.FiringVersion{WorkflowActive: true})
			f.deactivate(active)
			check(active.ID(), outbound.FiringVersion{Version: active.ID(), Published: true})
			f.read(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Firing.Version(ctx, tenant.All(f.tenant().ID()), wf.ID(), "")
				f.wantError(err, domain.NotFound, "workflow_not_found")
				return nil
			})
		},
		"what can fire is not deleted before its unit has ended, and afterwards it cannot fire": func(f fixture) {
			for name, ask := range map[string]func(context.Context, outbound.Stores, *trigger.Trigger) error{
				"trigger": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					_, err := st.Firing.Trigger(ctx, tenant.All(trg.Tenant()), trg.ID())
					return err
				},
				"event": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					_, err := st.Firing.OnEvent(ctx, tenant.All(trg.Tenant()), outbound.EventQuery{Event: "paid", Limit: 9})
					return err
				},
				"each": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					_, err := st.Firing.Triggers(ctx, []outbound.TriggerKey{outbound.KeyOf(trg)})
					return err
				},
			} {
				f.keptWhileFiring(name, ask)
			}
		},
	})
}

// keptWhileFiring deletes a workflow while another unit starts a run of it. The deletion
// must wait: it looks for runs when it has deleted the workflow, and has to see it.
func (f fixture) keptWhileFiring(name string, ask func(context.Context, outbound.Stores, *trigger.Trigger) error) {
	f.Helper()
	ver := f.published(f.tenant().ID(), "")
	trg := f.listening(ver, "paid")
	asked, deleted := make(chan struct{}), make(chan error, 1)
	f.write(func(ctx context.Context, st outbound.Stores) error {
		if err := ask(ctx, st, trg); err != nil {
			return err
		}
		go func() {
			close(asked)
			deleted <- f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if err := st.Workflows.Delete(ctx, tenant.All(ver.Tenant()), ver.Workflow()); err != nil {
					return err
				}
				live, err := st.Runs.Overview.OfWorkflow(ctx, tenant.All(ver.Tenant()), ver.Workflow(), 9)
				if len(live) != 1 {
					f.Errorf("%s: the deletion sees %d runs", name, len(live))
				}
				return err
			})
		}()
		<-asked
		select {
		case err := <-deleted:
			f.Errorf("%s: it was deleted meanwhile: %v", name, err)
		case <-time.After(50 * time.Millisecond): // the time that a deletion which does not wait would need
		}
		_, err := st.Runs.Runs.Start(ctx, pending(ver.Tenant(), ofVersion(ver)))
		return err
	})
	if err := <-deleted; err != nil {
		f.Error(err)
	}
	_, err := f.firing(trg.Tenant(), trg.ID())
	f.wantError(err, domain.NotFound, "trigger_not_found")
}
