package portstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// activated is when triggers of the fixture take effect.
var activated = noon.Add(500 * time.Millisecond)

// scheduled stores a trigger that can fire, with all that it needs.
func (f fixture) scheduled() *trigger.Trigger {
	f.Helper()
	ver := f.version(f.workflow(f.tenant().ID(), "team"))
	f.activate(ver, noon)
	return f.attach(ver)
}

// attach stores a new trigger of type schedule on a version.
func (f fixture) attach(ver *workflow.Version) *trigger.Trigger {
	f.Helper()
	trg := trigger.Restore(triggerState(ver))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
	return trg
}

// activate makes a version the active one of its workflow.
func (f fixture) activate(ver *workflow.Version, at time.Time) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		stored, err := st.Versions.Get(ctx, tenant.All(ver.Tenant()), ver.ID())
		if err != nil {
			return err
		}
		state := stored.State()
		state.Active, state.PublishedAt = true, &at
		return st.Versions.Update(ctx, workflow.RestoreVersion(state))
	})
}

// due lists "trigger dealtWith" of what a unit claims.
func (f fixture) due(now time.Time, limit int) (found []string) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		found = nil
		due, err := st.Schedules.Due(ctx, now, limit)
		for _, d := range due {
			found = append(found, line(d.Trigger.ID(), d.ProcessedUntil))
		}
		return err
	})
	return found
}

func line(id trigger.ID, at time.Time) string {
	return fmt.Sprint(id, " ", at.Format(time.RFC3339Nano))
}

// never is later than everything in the suite.
var never = noon.AddDate(1, 0, 0)

// held checks which schedules are held, and up to when they were dealt with.
func (f fixture) held(step string, want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.due(never, 100)); diff != "" {
		f.Errorf("%s: %s", step, diff)
	}
}

// change reads, changes and writes a record in one unit.
func change[T any](f fixture, get func(context.Context, outbound.Stores) (T, error), verb func(T) error, put func(context.Context, outbound.Stores, T) error) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		record, err := get(ctx, st)
		if err != nil {
			return err
		}
		if err := verb(record); err != nil {
			return err
		}
		return put(ctx, st, record)
	})
}

func (f fixture) reviseTrigger(trg *trigger.Trigger, p trigger.Patch, at time.Time) {
	f.Helper()
	change(f, func(ctx context.Context, st outbound.Stores) (*trigger.Trigger, error) {
		return st.Triggers.Get(ctx, tenant.All(trg.Tenant()), trg.ID())
	}, func(trg *trigger.Trigger) error { return trg.Revise(p, tenant.Settings{}, at) },
		func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
			return st.Triggers.Update(ctx, trg)
		})
}

func (f fixture) changeVersion(owner tenant.ID, id workflow.VersionID, verb func(*workflow.Version)) {
	f.Helper()
	change(f, func(ctx context.Context, st outbound.Stores) (*workflow.Version, error) {
		return st.Versions.Get(ctx, tenant.All(owner), id)
	},
		func(ver *workflow.Version) error { verb(ver); return nil },
		func(ctx context.Context, st outbound.Stores, ver *workflow.Version) error {
			return st.Versions.Update(ctx, ver)
		})
}

func (f fixture) toggleWorkflow(owner tenant.ID, id workflow.ID, at time.Time) {
	f.Helper()
	change(f, func(ctx context.Context, st outbound.Stores) (*workflow.Workflow, error) {
		return st.Workflows.Get(ctx, tenant.All(owner), id)
	},
		func(wf *workflow.Workflow) error { wf.Toggle(at); return nil },
		func(ctx context.Context, st outbound.Stores, wf *workflow.Workflow) error {
			return st.Workflows.Update(ctx, wf)
		})
}

func (f fixture) changeTenant(id tenant.ID, verb func(*tenant.Tenant)) {
	f.Helper()
	change(f, func(ctx context.Context, st outbound.Stores) (*tenant.Tenant, error) { return st.Tenants.Get(ctx, id) },
		func(ten *tenant.Tenant) error { verb(ten); return nil },
		func(ctx context.Context, st outbound.Stores, ten *tenant.Tenant) error {
			return st.Tenants.Update(ctx, ten)
		})
}

// workflowOf finds the workflow of a trigger.
func (f fixture) workflowOf(trg *trigger.Trigger) (id workflow.ID) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		belongs, err := st.Versions.Parent(ctx, tenant.All(trg.Tenant()), trg.Version())
		id = belongs.Workflow
		return err
	})
	return id
}

// ScheduleRepository is the contract of outbound.ScheduleRepository.
func ScheduleRepository(t *testing.T, open OpenStore) {
	cases(t, open, schedulesHeld())
	cases(t, open, schedulesLookedAt())
	cases(t, open, scheduleTurns())
	cases(t, open, schedulesSingledOut())
}

// schedulesHeld are the claims about which schedules are held.
func schedulesHeld() map[string]func(f fixture) {
	yes, no, name := true, false, "Another name"
	hour := noon.Add(time.Hour)
	return map[string]func(f fixture){
		"a trigger that can fire is held as dealt with up to its activation": func(f fixture) {
			trg := f.scheduled()
			f.held("made", line(trg.ID(), activated))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				due, err := st.Schedules.Due(ctx, never, 1)
				if err == nil {
					if diff := cmp.Diff(trg.State(), due[0].Trigger.State()); diff != "" {
						f.Error(diff)
					}
				}
				return err
			})
		},
		"a trigger of type webhook, and one that is inactive, are not held": func(f fixture) {
			ver := f.version(f.workflow(f.tenant().ID(), ""))
			f.activate(ver, noon)
			webhook, inactive := triggerState(ver), triggerState(ver)
			webhook.Type, inactive.Active = trigger.Webhook, false
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Triggers.Insert(ctx, trigger.Restore(webhook)), st.Triggers.Insert(ctx, trigger.Restore(inactive)))
			})
			f.held("made")
			f.reviseTrigger(trigger.Restore(webhook), trigger.Patch{Name: &name, Active: &no}, hour)
			f.reviseTrigger(trigger.Restore(webhook), trigger.Patch{Active: &yes}, hour)
			f.held("a webhook is activated")
			f.reviseTrigger(trigger.Restore(inactive), trigger.Patch{Active: &yes}, hour)
			f.held("the inactive one is activated", line(inactive.ID, hour))
		},
		"a trigger is held while it is active, and begins anew": func(f fixture) {
			trg := f.scheduled()
			f.reviseTrigger(trg, trigger.Patch{Active: &no}, noon.Add(time.Minute))
			f.held("inactive")
			f.reviseTrigger(trg, trigger.Patch{Active: &yes}, hour)
			f.held("active again", line(trg.ID(), hour))
		},
		"a change of the times begins anew, and any other change does not": func(f fixture) {
			trg := f.scheduled()
			f.reviseTrigger(trg, trigger.Patch{Name: &name}, hour)
			same := domain.RestoreDocument(`{"timeoutMs":1000,"scheduleConfig":{"cron":"0 8 * * *","catchUp":"all"}}`)
			f.reviseTrigger(trg, trigger.Patch{Config: &same}, hour)
			f.held("another name and timeout", line(trg.ID(), activated))
			other := domain.RestoreDocument(`{"scheduleConfig":{"cron":"0 9 * * *"}}`)
			f.reviseTrigger(trg, trigger.Patch{Config: &other}, hour)
			f.held("another hour", line(trg.ID(), hour))
		},
		"only the triggers of the active version are held": func(f fixture) {
			wf := f.workflow(f.tenant().ID(), "")
			first, second := f.version(wf), f.version(wf)
			one, two := f.attach(first), f.attach(second)
			f.held("drafts")
			f.activate(first, hour)
			f.held("the first is published", line(one.ID(), hour))
			f.activate(second, hour.Add(time.Second))
			f.held("the second is published", line(two.ID(), hour.Add(time.Second)))
		},
		"an inactive workflow has none, and begins anew": func(f fixture) {
			trg, other := f.scheduled(), f.scheduled()
			wf := f.workflowOf(trg)
			f.toggleWorkflow(trg.Tenant(), wf, noon.Add(time.Minute))
			f.held("inactive", line(other.ID(), activated))
			f.toggleWorkflow(trg.Tenant(), wf, hour)
			f.held("active again", line(other.ID(), activated), line(trg.ID(), hour))
		},
		"a suspended tenant has none, and begins anew": func(f fixture) {
			trg, other := f.scheduled(), f.scheduled()
			f.changeTenant(trg.Tenant(), func(ten *tenant.Tenant) { ten.Suspend(noon.Add(time.Minute)) })
			f.held("suspended", line(other.ID(), activated))
			f.changeTenant(trg.Tenant(), func(ten *tenant.Tenant) { ten.Resume(hour) })
			f.held("resumed", line(other.ID(), activated), line(trg.ID(), hour))
		},
		"what is deleted is not held": func(f fixture) {
			kept := f.scheduled()
			for claim, remove := range map[string]func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error{
				"the trigger": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					return st.Triggers.Delete(ctx, tenant.All(trg.Tenant()), trg.ID())
				},
				"the version": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					return st.Versions.Delete(ctx, tenant.All(trg.Tenant()), trg.Version())
				},
				"the tenant": func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					return st.Tenants.Delete(ctx, trg.Tenant())
				},
			} {
				trg := f.scheduled()
				f.write(func(ctx context.Context, st outbound.Stores) error { return remove(ctx, st, trg) })
				f.held(claim, line(kept.ID(), activated))
			}
		},
		"whoever is faster, a trigger is held exactly when its workflow is active": func(f fixture) {
			owner := f.tenant().ID()
			for i := range 24 {
				wf := f.workflow(owner, "")
				ver := f.version(wf)
				f.activate(ver, noon)
				ends := i%2 == 1 // active in the end
				if ends {
					f.toggleWorkflow(owner, wf.ID(), noon)
				}
				var done sync.WaitGroup
				done.Go(func() { f.toggleWorkflow(owner, wf.ID(), hour) })
				var trg *trigger.Trigger
				done.Go(func() { trg = f.attach(ver) })
				done.Wait()
				isHeld := slices.ContainsFunc(f.due(never, 100), func(l string) bool { return l[:len(trg.ID())] == string(trg.ID()) })
				if isHeld != ends {
					f.Fatalf("round %d: the workflow is active: %v, the trigger is held: %v", i, ends, isHeld)
				}
			}
		},
	}
}

// schedulesLookedAt are the claims about looking at schedules.
func schedulesLookedAt() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"of a tenant the most overdue come first, as many as are asked for, and none before its time": func(f fixture) {
			ver := f.version(f.workflow(f.tenant().ID(), "team"))
			f.activate(ver, noon)
			a, b, c := f.attach(ver), f.attach(ver), f.attach(ver)
			f.advance(look(a, noon, noon.Add(2*time.Second)), look(b, noon, noon.Add(time.Second)), look(c, noon, noon.Add(3*time.Second)))
			for _, step := range []struct {
				now   time.Duration
				limit int
				want  []string
			}{
				{999 * time.Millisecond, 9, nil},
				{time.Second, 9, []string{line(b.ID(), noon)}},
				{3 * time.Second, 0, nil},
				{3 * time.Second, 2, []string{line(b.ID(), noon), line(a.ID(), noon)}},
				{3 * time.Second, 9, []string{line(b.ID(), noon), line(a.ID(), noon), line(c.ID(), noon)}},
			} {
				if diff := cmp.Diff(step.want, f.due(noon.Add(step.now), step.limit)); diff != "" {
					f.Errorf("%d after %s: %s", step.limit, step.now, diff)
				}
			}
		},
		"the next look is the earliest of all": func(f fixture) {
			f.next(time.Time{})
			a, b := f.scheduled(), f.scheduled()
			f.next(activated)
			f.advance(look(a, noon, noon.Add(time.Hour)), look(b, noon, noon.Add(2*time.Hour)))
			f.next(noon.Add(time.Hour))
			f.advance(look(a, noon, time.Time{}))
			f.next(noon.Add(2 * time.Hour))
			f.advance(look(b, noon, time.Time{}))
			f.next(time.Time{})
			f.held("never due again")
		},
		"a schedule that is not held any more is left out": func(f fixture) {
			trg := f.scheduled()
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Delete(ctx, tenant.All(trg.Tenant()), trg.ID())
			})
			f.advance(look(trg, noon, noon.Add(time.Hour)))
			f.next(time.Time{})
		},
		"a unit that fails has dealt with nothing": func(f fixture) {
			trg := f.scheduled()
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if err := st.Schedules.Advance(ctx, []outbound.ScheduleProgress{look(trg, noon.Add(time.Hour), noon.Add(2*time.Hour))}); err != nil {
					return err
				}
				return errOnPurpose
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.held("after the failure", line(trg.ID(), activated))
		},
		"of many units that look at the same time none gets what another has": func(f fixture) {
			const all, units = 40, 8
			for range all {
				f.scheduled()
			}
			var mu sync.Mutex
			seen := make(map[trigger.ID]int)
			var done sync.WaitGroup
			for range units {
				done.Go(func() {
					for range 2 * all / units {
						var mine []outbound.DueSchedule
						f.write(func(ctx context.Context, st outbound.Stores) (err error) {
							if mine, err = st.Schedules.Due(ctx, activated, 7); err != nil {
								return err
							}
							var looked []outbound.ScheduleProgress
							for _, d := range mine {
								looked = append(looked, look(d.Trigger, activated, never))
							}
							return st.Schedules.Advance(ctx, looked)
						})
						mu.Lock()
						for _, d := range mine {
							seen[d.Trigger.ID()]++
						}
						mu.Unlock()
					}
				})
			}
			done.Wait()
			for id, n := range seen {
				if n != 1 {
					f.Errorf("%s was claimed %d times", id, n)
				}
			}
			if len(seen) != all {
				f.Errorf("%d of %d were claimed", len(seen), all)
			}
		},
	}
}

func look(trg *trigger.Trigger, dealtWith, next time.Time) outbound.ScheduleProgress {
	return outbound.ScheduleProgress{Tenant: trg.Tenant(), Trigger: trg.ID(), ProcessedUntil: dealtWith, Next: next}
}

func (f fixture) advance(looked ...outbound.ScheduleProgress) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Schedules.Advance(ctx, looked) })
}

// next checks the earliest look; the zero time stands for none.
func (f fixture) next(want time.Time) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		at, _, err := st.Schedules.Next(ctx)
		if !at.Equal(want) {
			f.Errorf("the next look is at %s, not at %s", at, want)
		}
		return err
	})
}
