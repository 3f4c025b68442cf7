package portstest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// replace makes another version the active one, after something else.
func (f fixture) replace(to *workflow.Version, at time.Time, first func(ctx context.Context, st outbound.Stores) error) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Workflows.Get(ctx, tenant.All(to.Tenant()), to.Workflow()); err != nil {
			return err
		}
		if err := first(ctx, st); err != nil {
			return err
		}
		stored, err := st.Versions.Get(ctx, tenant.All(to.Tenant()), to.ID())
		if err != nil {
			return err
		}
		state := stored.State()
		state.Active, state.PublishedAt = true, &at
		return st.Versions.Update(ctx, workflow.RestoreVersion(state))
	})
}

// moving replaces a version, and moves its triggers.
func (f fixture) moving(from, to *workflow.Version, at time.Time) (moved []trigger.ID) {
	f.Helper()
	f.replace(to, at, func(ctx context.Context, st outbound.Stores) (err error) {
		moved, err = st.Activation.Move(ctx, tenant.All(from.Tenant()), from.ID(), to.ID(), at)
		return err
	})
	return moved
}

// leaving replaces a version, and leaves its triggers behind.
func (f fixture) leaving(from, to *workflow.Version, at time.Time) {
	f.Helper()
	f.replace(to, at, func(ctx context.Context, st outbound.Stores) error {
		return st.Activation.MarkLeftBehind(ctx, tenant.All(from.Tenant()), from.ID(), at)
	})
}

// twoVersions stores a workflow whose first version of two is the active one.
func (f fixture) twoVersions() (wf *workflow.Workflow, first, second *workflow.Version) {
	f.Helper()
	wf = f.workflow(f.tenant().ID(), "team")
	first, second = f.version(wf), f.version(wf)
	f.activate(first, noon)
	return wf, first, second
}

func (f fixture) wantTrigger(step string, want trigger.State) {
	f.Helper()
	got, err := f.getTrigger(want.Tenant, want.ID)
	if err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(want, got.State()); diff != "" {
		f.Errorf("%s: %s", step, diff)
	}
}

func (f fixture) sweepLeft(before time.Time, limit int) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		n, err = st.Activation.Sweep(ctx, before, limit)
		return err
	})
	return n
}

// ActivationRepository is the contract of outbound.ActivationRepository.
func ActivationRepository(t *testing.T, open OpenStore) {
	cases(t, open, versionsReplaced())
	cases(t, open, triggersMoved())
	cases(t, open, triggersLeft())
}

// versionsReplaced are the claims about which version was active before.
func versionsReplaced() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"the previous version is the one that was replaced last, whatever the clocks say": func(f fixture) {
			wf, first, second := f.twoVersions()
			third := f.version(wf)
			previous := func(step string, want workflow.VersionID) {
				f.Helper()
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Activation.Previous(ctx, tenant.All(wf.Tenant()), wf.ID())
					if got != want {
						f.Errorf("%s: the previous version is %q, not %q", step, got, want)
					}
					return err
				})
			}
			previous("one was published", "")
			f.activate(second, noon)
			previous("two were published", first.ID())
			f.activate(third, noon.Add(-time.Hour))
			previous("three were published", second.ID())
			f.activate(second, noon.Add(-2*time.Hour))
			previous("the second one again", third.ID())
			f.activate(third, noon.Add(-3*time.Hour))
			previous("the third one again", second.ID())
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Delete(ctx, tenant.All(wf.Tenant()), second.ID())
			})
			previous("the second one is deleted", first.ID())
		},
		"a workflow that does not exist has no previous version": func(f fixture) {
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Activation.Previous(ctx, tenant.All(f.tenant().ID()), "wf_absent")
				if got != "" {
					f.Errorf("it is %q", got)
				}
				return err
			})
		},
	}
}

// triggersMoved are the claims about triggers that come along.
func triggersMoved() map[string]func(f fixture) {
	hour := noon.Add(time.Hour)
	return map[string]func(f fixture){
		"all triggers of a version move, and no others": func(f fixture) {
			_, first, second := f.twoVersions()
			inactive, hook := triggerState(first), triggerState(first)
			inactive.Active, hook.Type = false, trigger.Webhook
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Triggers.Insert(ctx, trigger.Restore(hook)); err != nil {
					return err
				}
				return st.Triggers.Insert(ctx, trigger.Restore(inactive))
			})
			schedule, own, foreign := f.attach(first).State(), f.attach(second).State(), f.scheduled().State()
			moved := f.moving(first, second, hour)
			if diff := cmp.Diff([]trigger.ID{inactive.ID, hook.ID, schedule.ID}, moved); diff != "" {
				f.Error(diff)
			}
			for _, want := range []trigger.State{inactive, hook, schedule} {
				want.Version, want.UpdatedAt, want.Revision = second.ID(), hour, 2
				f.wantTrigger("moved", want)
			}
			f.wantTrigger("its own", own)
			f.wantTrigger("another tenant's", foreign)
			if again := f.moving(first, second, hour); len(again) > 0 {
				f.Errorf("moved again: %v", again)
			}
		},
		"a schedule that moves is dealt with as far as it was, to and fro": func(f fixture) {
			_, first, second := f.twoVersions()
			trg := f.attach(first)
			dealt := noon.Add(30 * time.Minute)
			f.advance(look(trg, dealt, hour))
			f.moving(first, second, hour)
			f.held("moved", line(trg.ID(), dealt))
			f.next(hour)
			f.moving(second, first, hour.Add(time.Minute))
			f.held("moved back", line(trg.ID(), dealt))
			f.moving(first, second, hour.Add(2*time.Minute))
			f.next(hour)
		},
		"a schedule that is not held when it moves is not held": func(f fixture) {
			wf, first, second := f.twoVersions()
			trg := f.attach(first)
			f.toggleWorkflow(wf.Tenant(), wf.ID(), noon.Add(time.Minute))
			f.moving(first, second, hour)
			f.held("moved")
			f.toggleWorkflow(wf.Tenant(), wf.ID(), hour.Add(time.Minute))
			f.held("its workflow is active again", line(trg.ID(), hour.Add(time.Minute)))
		},
		"a schedule that moves needs what the version needs": func(f fixture) {
			_, first, second := f.twoVersions()
			trg := f.attach(first)
			f.changeVersion(second.Tenant(), second.ID(), func(ver *workflow.Version) {
				state := ver.State()
				state.Level = process.Latest + 1
				*ver = *workflow.RestoreVersion(state)
			})
			f.moving(first, second, hour)
			f.held("by a process that lacks it")
			f.moving(second, first, hour)
			f.held("moved back", line(trg.ID(), activated))
		},
		"whoever is faster, what a look has dealt with stays dealt with": func(f fixture) {
			_, first, second := f.twoVersions()
			trg := f.attach(first)
			dealt := activated
			for range 24 {
				now := dealt.Add(time.Minute)
				looked := false
				var done sync.WaitGroup
				done.Go(func() {
					f.write(func(ctx context.Context, st outbound.Stores) error {
						due, err := st.Schedules.Due(ctx, now, 9)
						if looked = err == nil && len(due) == 1; !looked {
							return err
						}
						return st.Schedules.Advance(ctx, []outbound.ScheduleProgress{look(trg, now, now)})
					})
				})
				done.Go(func() { f.moving(first, second, now) })
				done.Wait()
				if looked {
					dealt = now
				}
				f.held("in the end", line(trg.ID(), dealt))
				first, second = second, first
			}
		},
		"a trigger that is changed at the same time is changed and moved": func(f fixture) {
			_, first, second := f.twoVersions()
			trg := f.attach(first)
			yes, no := true, false
			for i := range 12 {
				at := hour.Add(time.Duration(i) * time.Minute)
				active := []*bool{&no, &yes}[i%2]
				var done sync.WaitGroup
				done.Go(func() { f.reviseTrigger(trg, trigger.Patch{Active: active}, at) })
				done.Go(func() { f.moving(first, second, at) })
				done.Wait()
				got, err := f.getTrigger(trg.Tenant(), trg.ID())
				if err != nil || got.Version() != second.ID() || got.Active() != *active || got.Revision() != int64(2*i+3) || got.LeftBehind() {
					f.Fatalf("round %d: %+v, %v", i, got.State(), err)
				}
				if isHeld := len(f.due(never, 9)) == 1; isHeld != *active {
					f.Errorf("round %d: it is held: %v", i, isHeld)
				}
				first, second = second, first
			}
		},
	}
}

// triggersLeft are the claims about triggers that stay behind, and about those that are
// attached to another version by themselves.
func triggersLeft() map[string]func(f fixture) {
	yes, no := true, false
	hour := noon.Add(time.Hour)
	return map[string]func(f fixture){
		"an active trigger is left behind, and its schedule goes on": func(f fixture) {
			_, first, second := f.twoVersions()
			left, inactive, own := f.attach(first), triggerState(first), f.attach(second)
			inactive.Active = false
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Insert(ctx, trigger.Restore(inactive))
			})
			f.leaving(first, second, hour)
			want := left.State()
			want.LeftAt = &hour
			f.wantTrigger("active", want)
			f.wantTrigger("inactive", inactive)
			f.held("left", line(left.ID(), activated), line(own.ID(), hour))
			f.leaving(second, first, hour.Add(time.Minute))
			want.LeftAt = nil
			f.wantTrigger("its version is active again", want)
			f.held("active again", line(left.ID(), activated), line(own.ID(), hour))
		},
		"a schedule that was left behind is held while it could fire but for its version": func(f fixture) {
			wf, first, second := f.twoVersions()
			trg := f.attach(first)
			f.leaving(first, second, hour)
			f.reviseTrigger(trg, trigger.Patch{Active: &no}, hour)
			f.held("inactive")
			f.reviseTrigger(trg, trigger.Patch{Active: &yes}, hour.Add(time.Minute))
			f.held("active", line(trg.ID(), hour.Add(time.Minute)))
			f.toggleWorkflow(wf.Tenant(), wf.ID(), hour)
			f.held("its workflow is inactive")
			f.toggleWorkflow(wf.Tenant(), wf.ID(), hour.Add(2*time.Minute))
			f.held("its workflow is active", line(trg.ID(), hour.Add(2*time.Minute)))
			f.changeTenant(wf.Tenant(), func(ten *tenant.Tenant) { ten.Suspend(hour) })
			f.held("its tenant is suspended")
			f.changeTenant(wf.Tenant(), func(ten *tenant.Tenant) { ten.Resume(hour.Add(3 * time.Minute)) })
			f.held("its tenant is active", line(trg.ID(), hour.Add(3*time.Minute)))
			third := f.version(wf)
			f.leaving(second, third, hour.Add(4*time.Minute))
			f.held("another version was published", line(trg.ID(), hour.Add(3*time.Minute)))
		},
		"a trigger is attached to another version by an update": func(f fixture) {
			wf, first, second := f.twoVersions()
			trg := f.attach(first)
			attach := func(step string, to workflow.VersionID, at time.Time, left bool, held ...string) {
				f.Helper()
				var want trigger.State
				change(f, func(ctx context.Context, st outbound.Stores) (*trigger.Trigger, error) {
					return st.Triggers.Get(ctx, tenant.All(trg.Tenant()), trg.ID())
				}, func(trg *trigger.Trigger) error {
					err := trg.Revise(trigger.Patch{Target: &trigger.Target{Version: to, Exists: true, SameWorkflow: true}}, tenant.Settings{}, at)
					if left {
						trg.MarkLeftBehind(at)
					}
					want = trg.State()
					return err
				}, func(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) error {
					return st.Triggers.Update(ctx, trg)
				})
				want.Revision++
				f.wantTrigger(step, want)
				f.held(step, held...)
			}
			attach("left behind", second.ID(), hour, true, line(trg.ID(), activated))
			attach("back", first.ID(), hour, false, line(trg.ID(), activated))
			attach("away", second.ID(), hour, false)
			attach("back later", first.ID(), hour.Add(time.Minute), false, line(trg.ID(), hour.Add(time.Minute)))
			attach("to a draft", f.version(wf).ID(), hour, false)
		},
		"that triggers were left behind long ago is forgotten, some at a time": func(f fixture) {
			wf, first, second := f.twoVersions()
			one, two := f.attach(first), f.attach(first)
			f.leaving(first, second, hour)
			late := f.attach(second)
			f.leaving(second, f.version(wf), hour.Add(time.Minute))
			if n := f.sweepLeft(hour, 9); n != 0 {
				f.Errorf("%d are forgotten at the time itself", n)
			}
			var counts []int
			for range 3 {
				counts = append(counts, f.sweepLeft(hour.Add(time.Minute), 1))
			}
			if !slices.Equal(counts, []int{1, 1, 0}) {
				f.Errorf("%v are forgotten", counts)
			}
			f.wantTrigger("forgotten", one.State())
			f.wantTrigger("forgotten", two.State())
			f.held("forgotten", line(late.ID(), activated))
		},
	}
}
