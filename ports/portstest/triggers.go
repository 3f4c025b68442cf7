package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// triggerState is a trigger on a version with every member filled in.
func triggerState(ver *workflow.Version) trigger.State {
	const config = `{"zulu":1.50,"timeoutMs":5e3,"alpha":{"b":"é <&>","a":null},"scheduleConfig":{"cron":"0 8 * * *"}}`
	return trigger.State{
		ID: trigger.ID(newID("trg")), Tenant: ver.Tenant(), SubTenant: ver.SubTenant(), Version: ver.ID(), Name: "Morgens früh",
		Type: trigger.Scheduled, Config: trigger.RestoreConfig(config), Active: true,
		ActivatedAt: activated, CreatedAt: noon, UpdatedAt: noon.Add(time.Second), Revision: 1,
	}
}

// trigger stores a new trigger of a new tenant.
func (f fixture) trigger() *trigger.Trigger {
	f.Helper()
	trg := trigger.Restore(triggerState(f.version(f.workflow(f.tenant().ID(), "team"))))
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
	return trg
}

func (f fixture) getTrigger(owner tenant.ID, id trigger.ID) (trg *trigger.Trigger, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		trg, err = st.Triggers.Get(ctx, tenant.All(owner), id)
		return err
	})
	return trg, err
}

// TriggerRepository is the contract of outbound.TriggerRepository.
func TriggerRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, the configuration as it was sent": func(f fixture) {
			want, left := f.trigger().State(), noon.Add(time.Minute)
			want.ID, want.LeftAt = trigger.ID(newID("trg")), &left
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Insert(ctx, trigger.Restore(want))
			})
			f.wantTrigger("stored", want)
		},
		"an update changes what it should, and a stale one is refused": func(f fixture) {
			trg := f.trigger()
			stale := trigger.Restore(trg.State())
			name, inactive, config := "Later", false, domain.RestoreDocument(`{"b":2,"a":1}`)
			patch := trigger.Patch{Name: &name, Active: &inactive, Config: &config}
			if err := trg.Revise(patch, tenant.Settings{}, noon.Add(time.Hour)); err != nil {
				f.Fatal(err)
			}
			want := trg.State()
			want.Revision = 2
			update := func(trg *trigger.Trigger) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Update(ctx, trg) })
			}
			if err := update(trg); err != nil {
				f.Fatal(err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
			got, err := f.getTrigger(want.Tenant, want.ID)
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want, got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"a deleted trigger is gone, and deleting it again says so": func(f fixture) {
			trg := f.trigger()
			remove := func() error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					return st.Triggers.Delete(ctx, tenant.All(trg.Tenant()), trg.ID())
				})
			}
			if err := remove(); err != nil {
				f.Fatal(err)
			}
			_, err := f.getTrigger(trg.Tenant(), trg.ID())
			f.wantError(err, domain.NotFound, "trigger_not_found")
			f.wantError(remove(), domain.NotFound, "trigger_not_found")
		},
		"a trigger of another tenant is as if it did not exist": func(f fixture) {
			trg, other := f.trigger(), f.tenant().ID()
			_, err := f.getTrigger(other, trg.ID())
			f.wantError(err, domain.NotFound, "trigger_not_found")
			_, errAbsent := f.getTrigger(other, "trg_absent")
			if err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
			stolen := trg.State()
			stolen.Tenant = other
			for _, do := range []func(context.Context, outbound.Stores) error{
				func(ctx context.Context, st outbound.Stores) error {
					return st.Triggers.Update(ctx, trigger.Restore(stolen))
				},
				func(ctx context.Context, st outbound.Stores) error {
					return st.Triggers.Delete(ctx, tenant.All(other), trg.ID())
				},
			} {
				f.wantError(f.work.Do(f.Context(), do), domain.NotFound, "trigger_not_found")
			}
			if _, err := f.getTrigger(trg.Tenant(), trg.ID()); err != nil {
				f.Error(err)
			}
		},
		"a trigger cannot be attached to a version of another tenant": func(f fixture) {
			foreign := f.version(f.workflow(f.tenant().ID(), ""))
			st := triggerState(foreign)
			st.Tenant = f.tenant().ID()
			err := f.work.Do(f.Context(), func(ctx context.Context, stores outbound.Stores) error {
				return stores.Triggers.Insert(ctx, trigger.Restore(st))
			})
			if err == nil {
				f.Error("it was attached")
			}
		},
	})
}
