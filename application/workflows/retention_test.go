package workflows_test

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

func TestOnlyWhoMayDeleteRunsChangesForHowLongTheyAreKept(t *testing.T) {
	e := fixture.New(t, openSQLite(t))
	service := workflows.New(e.Raw, nil, e.Clock, system.Random{})
	narrowed := e.Caller
	narrowed.Narrowing.Rights = []tenant.Right{tenant.ReadWorkflowsRight, tenant.WriteWorkflowsRight}
	create := func(who tenant.Caller, days *int) (*workflow.Workflow, error) {
		return service.Create(t.Context(), who, domain.IdempotencyKey{}, inbound.WorkflowDraft{Draft: workflow.Draft{Name: system.Random{}.ID("name"), RunDays: days}})
	}
	change := func(who tenant.Caller, id workflow.ID, p workflow.Patch) error {
		_, err := service.Update(t.Context(), who, id, domain.Expected{}, p)
		return err
	}
	week, day, name := 7, 1, "other"
	_, err := create(narrowed, &week)
	e.WantCode(err, domain.Forbidden, "permission_missing")
	_, err = create(narrowed, nil)
	wf, made := create(e.Caller, &week)
	if err := errors.Join(err, made); err != nil {
		t.Fatal(err)
	}
	for _, p := range []workflow.Patch{{RunDays: &day}, {RemoveRunDays: true}} {
		e.WantCode(change(narrowed, wf.ID(), p), domain.Forbidden, "permission_missing")
	}
	if err := errors.Join(change(narrowed, wf.ID(), workflow.Patch{Name: &name, RunDays: &week}), change(e.Caller, wf.ID(), workflow.Patch{RunDays: &day})); err != nil {
		t.Error(err)
	}
}
