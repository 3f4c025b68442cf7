package triggers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// managed is the service over a store with a trigger on the active version of a workflow, which
// has a draft as well.
type managed struct {
	*testing.T
	store   *sqlstore.Store
	service *triggers.Service
	who     tenant.Caller
}

func newManaged(t *testing.T, workflowActive bool) managed {
	t.Helper()
	store := sqlitetest.Open(t)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := &portstest.ManualClock{}
	clock.Set(noon.Add(time.Hour))
	m := managed{t, store, triggers.New(store, nil, sqlstore.NewTriggerInserter(store), expression.Checker{}, nil, clock, system.Random{}), tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Secret}}
	owner := m.who.Tenant()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		version := func(id workflow.VersionID, of workflow.ID, number int) *workflow.Version {
			return workflow.RestoreVersion(workflow.VersionState{ID: id, Tenant: owner, Workflow: of, Number: number, Active: number == 1, PublishedAt: &noon, Revision: 1})
		}
		return errors.Join(
			st.Tenants.Insert(ctx, ten),
			st.Workflows.Insert(ctx, workflow.Restore(workflow.State{ID: "wf_1", Tenant: owner, Name: "Orders", Active: workflowActive, Revision: 1})),
			st.Workflows.Insert(ctx, workflow.Restore(workflow.State{ID: "wf_2", Tenant: owner, Name: "Others", Active: true, Revision: 1})),
			st.Versions.Insert(ctx, version("wfv_1", "wf_1", 1)), st.Versions.Insert(ctx, version("wfv_2", "wf_1", 2)), st.Versions.Insert(ctx, version("wfv_3", "wf_2", 1)),
			st.Triggers.Insert(ctx, trigger.Restore(trigger.State{ID: "trg_1", Tenant: owner, Version: "wfv_1", Name: "Paid", Type: trigger.Webhook, Active: true, Revision: 1})),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// told lists what there is to tell, with the reasons.
func (m managed) told() string {
	m.Helper()
	var list []string
	err := m.store.Do(m.Context(), func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.PendingFanOut(ctx, 9, "")
		list = nil
		for _, e := range waiting {
			_, reason, _ := strings.Cut(e.Data().String(), `"reason":`)
			list = append(list, string(e.Type())+" "+e.At().Format(time.TimeOnly)+" "+strings.Trim(reason, `"}`))
		}
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	return strings.Join(list, ", ")
}

func TestTheTenantIsToldWhenATriggerIsSwitchedOff(t *testing.T) {
	m := newManaged(t, false)
	const told = "trigger.disabled 13:00:00 It was switched off by a request."
	on, off, name, bad := true, false, "Other", ""
	for i, step := range []struct {
		patch trigger.Patch
		want  string
	}{
		{trigger.Patch{Name: &name}, ""},
		{trigger.Patch{Active: &on}, ""},
		{trigger.Patch{Active: &off, Name: &bad}, ""}, // which is refused
		{trigger.Patch{Active: &off}, told},
		{trigger.Patch{Active: &off, Name: &name}, told},
		{trigger.Patch{Active: &on}, told},
		{trigger.Patch{Active: &off}, told + ", " + told},
	} {
		_, err := m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, step.patch)
		if got := m.told(); got != step.want || (err != nil) != (step.patch.Name == &bad) {
			t.Errorf("%d: told is %q, %v", i, got, err)
		}
	}
}

func TestATriggerThatIsAttachedToAnotherVersionIsLeftBehindWhereItCouldFire(t *testing.T) {
	const told = "trigger.disabled 13:00:00 version_not_active"
	to := func(version workflow.VersionID) trigger.Patch {
		return trigger.Patch{Target: &trigger.Target{Version: version}}
	}
	off := false
	gone := to("wfv_2")
	gone.Active = &off
	for claim, c := range map[string]struct {
		paused bool
		patch  trigger.Patch
		left   bool
		want   string
	}{
		"to its own version":              {false, to("wfv_1"), false, ""},
		"to a version that is not active": {false, to("wfv_2"), true, told},
		"of a workflow that is inactive":  {true, to("wfv_2"), false, ""},
		"and switched off":                {false, gone, false, "trigger.disabled 13:00:00 It was switched off by a request."},
	} {
		m := newManaged(t, !c.paused)
		trg, err := m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, c.patch)
		if err != nil || trg.Version() != c.patch.Target.Version || trg.LeftBehind() != c.left || m.told() != c.want {
			t.Errorf("%s: told is %q, %v", claim, m.told(), err)
		}
		if trg, err = m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, to("wfv_1")); err != nil || trg.LeftBehind() || m.told() != c.want {
			t.Errorf("%s, and back: told is %q, %v", claim, m.told(), err)
		}
		for _, other := range []workflow.VersionID{"wfv_3", "wfv_absent"} {
			if _, err := m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, to(other)); !errors.Is(err, domain.Invalid) {
				t.Errorf("attached to %s: %v", other, err)
			}
		}
	}
}

func TestAFilterHasToCompileAndNeedsEveryProcessToKnowIt(t *testing.T) {
	m := newManaged(t, true)
	m.service = triggers.New(m.store, anyVersion{}, sqlstore.NewTriggerInserter(m.store), expression.Checker{}, nil, system.Clock{}, system.Random{})
	config := func(filter string) *domain.Document {
		doc := domain.RestoreDocument(`{"filter":"` + filter + `"}`)
		return &doc
	}
	_, create := m.service.Create(t.Context(), m.who, domain.IdempotencyKey{}, trigger.Draft{Version: "wfv_1", Type: trigger.Webhook, Config: config("input.a")})
	_, update := m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, trigger.Patch{Config: config("payload.")})
	for _, err := range []error{create, update} {
		if e, _ := errors.AsType[*domain.Error](err); e == nil || e.Code != "trigger_invalid" || e.Violations[0].Field != "config.filter" {
			t.Errorf("it is refused with %v", err)
		}
	}
	older := process.Process{ID: "proc_old", Level: process.FirstRelease}
	m.do(func(ctx context.Context, st outbound.Stores) error { return st.Processes.Heartbeat(ctx, older) })
	draft := trigger.Draft{Version: "wfv_1", Name: "Large", Type: trigger.Webhook, Config: config("payload.a > 1")}
	_, create = m.service.Create(t.Context(), m.who, domain.IdempotencyKey{}, draft)
	_, update = m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, trigger.Patch{Config: config("payload.a > 1")})
	for _, err := range []error{create, update} {
		if e, _ := errors.AsType[*domain.Error](err); e == nil || e.Code != "upgrade_in_progress" {
			t.Errorf("next to an older process it is refused with %v", err)
		}
	}
	m.do(func(ctx context.Context, st outbound.Stores) error { return st.Processes.Remove(ctx, older.ID) })
	if _, err := m.service.Create(t.Context(), m.who, domain.IdempotencyKey{}, draft); err != nil {
		t.Error(err)
	}
	if _, err := m.service.Update(t.Context(), m.who, "trg_1", domain.Expected{}, trigger.Patch{Config: config("payload.a > 1")}); err != nil {
		t.Error(err)
	}
	m.do(func(ctx context.Context, st outbound.Stores) error {
		level, err := st.Processes.Required(ctx)
		if level != process.SecondRelease {
			t.Errorf("level %d is required", level)
		}
		return err
	})
}

func (m managed) do(fn func(context.Context, outbound.Stores) error) {
	m.Helper()
	if err := m.store.Do(m.Context(), fn); err != nil {
		m.Fatal(err)
	}
}
