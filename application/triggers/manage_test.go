package triggers_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestTheTenantIsToldWhenATriggerIsSwitchedOff(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := &portstest.ManualClock{}
	clock.Set(noon.Add(time.Hour))
	service := triggers.New(store, nil, sqlstore.NewTriggerIntake(store), nil, clock, system.Random{})
	who := tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Secret}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(who.Tenant(), "Acme", tenant.English, noon)
		if err != nil {
			return err
		}
		if err := st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		if err := st.Workflows.Insert(ctx, workflow.Restore(workflow.State{ID: "wf_1", Tenant: who.Tenant(), Name: "Orders", Revision: 1})); err != nil {
			return err
		}
		ver := workflow.RestoreVersion(workflow.VersionState{ID: "wfv_1", Tenant: who.Tenant(), Workflow: "wf_1", Number: 1, Revision: 1})
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		return st.Triggers.Insert(ctx, trigger.Restore(trigger.State{ID: "trg_1", Tenant: who.Tenant(), Version: "wfv_1", Name: "Paid", Type: trigger.Webhook, Active: true, Revision: 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
	told := func() (list []string) {
		err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			waiting, err := st.Webhooks.Events.Waiting(ctx, 9)
			list = nil
			for _, e := range waiting {
				list = append(list, string(e.Type())+" "+e.At().Format(time.TimeOnly))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	on, off, name, bad := true, false, "Other", ""
	for i, step := range []struct {
		patch trigger.Patch
		want  string
	}{
		{trigger.Patch{Name: &name}, ""},
		{trigger.Patch{Active: &on}, ""},
		{trigger.Patch{Active: &off, Name: &bad}, ""}, // which is refused
		{trigger.Patch{Active: &off}, "trigger.disabled 13:00:00"},
		{trigger.Patch{Active: &off, Name: &name}, "trigger.disabled 13:00:00"},
		{trigger.Patch{Active: &on}, "trigger.disabled 13:00:00"},
		{trigger.Patch{Active: &off}, "trigger.disabled 13:00:00, trigger.disabled 13:00:00"},
	} {
		_, err := service.Update(t.Context(), who, "trg_1", domain.Expected{}, step.patch)
		if got := strings.Join(told(), ", "); got != step.want || (err != nil) != (step.patch.Name == &bad) {
			t.Errorf("%d: told is %q, %v", i, got, err)
		}
	}
}
