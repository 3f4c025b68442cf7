package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/upkeep"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

var errBroken = domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached.")

// breaking is a store that breaks at the n-th of its steps and answers nothing from then
// on: a call of a repository, a commit, and the answer to a commit that took effect.
type breaking struct {
	outbound.UnitOfWork
	left int
}

// step says whether the store still works.
func (b *breaking) step() error {
	if b.left--; b.left <= 0 {
		return errBroken
	}
	return nil
}

func (b *breaking) broken() bool { return b.left <= 0 }

func (b *breaking) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	err := b.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Workflows = breakingWorkflows{st.Workflows, b}
		st.Runs.Runs = breakingRuns{st.Runs.Runs, b}
		st.Runs.Overview = breakingOverview{st.Runs.Overview, b}
		if err := fn(ctx, st); err != nil {
			return err
		}
		return b.step()
	})
	if err == nil {
		err = b.step()
	}
	return err
}

type breakingWorkflows struct {
	outbound.WorkflowRepository
	by *breaking
}

func (w breakingWorkflows) Get(ctx context.Context, scope tenant.Scope, id workflow.ID) (*workflow.Workflow, error) {
	if err := w.by.step(); err != nil {
		return nil, err
	}
	return w.WorkflowRepository.Get(ctx, scope, id)
}

func (w breakingWorkflows) Update(ctx context.Context, wf *workflow.Workflow) error {
	return errors.Join(w.by.step(), w.WorkflowRepository.Update(ctx, wf))
}

func (w breakingWorkflows) Delete(ctx context.Context, scope tenant.Scope, id workflow.ID) error {
	return errors.Join(w.by.step(), w.WorkflowRepository.Delete(ctx, scope, id))
}

type breakingRuns struct {
	outbound.RunRepository
	by *breaking
}

func (r breakingRuns) Record(ctx context.Context, steps ...outbound.RunStep) error {
	return errors.Join(r.by.step(), r.RunRepository.Record(ctx, steps...))
}

type breakingOverview struct {
	outbound.RunOverview
	by *breaking
}

func (o breakingOverview) OfWorkflow(ctx context.Context, scope tenant.Scope, of workflow.ID, limit int) ([]run.ID, error) {
	ids, err := o.RunOverview.OfWorkflow(ctx, scope, of, limit)
	return ids, errors.Join(o.by.step(), err)
}

// deleting is the service over a store that breaks at its n-th step.
func (h *env) deleting(n int) (*workflows.Service, *breaking) {
	store := &breaking{UnitOfWork: h.store, left: n}
	return workflows.New(store, h.notified, system.Clock{}, system.Random{}), store
}

func (h *env) keepUp() int {
	h.Helper()
	n, err := upkeep.New(h.store, h.notified, system.Clock{}, system.Random{}).CancelOrphans(h.Context())
	if err != nil {
		h.Error(err)
	}
	return n
}

func eachStore(t *testing.T, claim func(*testing.T, *sqlstore.Store)) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim(t, open(t))
		})
	}
}

// Wherever the store breaks: either nothing has changed, and the request can be repeated as
// it is, or the workflow is gone, and upkeep cancels the runs that are left.
func TestADeletionThatBreaksOffHasDoneNothingOrIsFinishedLater(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		const live = 250
		untouched, undone, decided := fmt.Sprintf("Orders, active true, revision 1, %d runs live", live+1), 0, 0
		for n, broke := 1, true; broke; n++ {
			h := newEnv(t, store)
			h.runs(live, h.version.ID(), h.version.Workflow())
			h.runs(1, "wfv_1", "wf_1")
			h.do(func(ctx context.Context, st outbound.Stores) error {
				return st.Workflows.Insert(ctx, workflow.Restore(workflow.State{ID: "wf_1", Tenant: h.who.Tenant(), Name: "Others", Revision: 1}))
			})
			service, breaks := h.deleting(n)
			err := service.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1))
			broke = breaks.broken()
			switch seen := h.seen(); {
			case seen == untouched:
				undone++
				if err == nil {
					t.Errorf("step %d: nothing was done, and it is reported as done", n)
				}
				if err := h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)); err != nil {
					t.Errorf("step %d: the repeated request is refused: %v", n, err)
				}
			case strings.HasPrefix(seen, "gone,"):
				decided++
			default:
				t.Fatalf("step %d: seen is %q, neither gone nor %q", n, seen, untouched)
			}
			h.keepUp()
			if cancelled, left := h.count(run.StatusCancelled), h.count(run.StatusPending); cancelled != live || left != 1 {
				t.Errorf("step %d: %d are cancelled and %d live in the end", n, cancelled, left)
			}
			if n := h.keepUp(); n != 0 {
				t.Errorf("upkeep cancels another %d", n)
			}
		}
		if undone < 5 || decided < 5 {
			t.Errorf("it broke off %d times before it was decided, and %d times after", undone, decided)
		}
	})
}

func TestAChangeBeforeADeletionIsRepeatedIsNotLost(t *testing.T) {
	eachStore(t, func(t *testing.T, store *sqlstore.Store) {
		h := newEnv(t, store)
		service, _ := h.deleting(3)
		if err := service.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)); !errors.Is(err, domain.Unavailable) {
			t.Fatal(err)
		}
		name := "Renamed"
		if _, err := h.workflows.Update(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1), workflow.Patch{Name: &name}); err != nil {
			t.Fatal(err)
		}
		h.wantCode(h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(1)), "precondition_failed")
		if seen := h.seen(); seen != "Renamed, active true, revision 2, 0 runs live" {
			t.Errorf("seen is %q", seen)
		}
		if err := h.workflows.Delete(t.Context(), h.who, h.version.Workflow(), domain.ExpectOneOf(2)); err != nil {
			t.Error(err)
		}
	})
}

// A client that goes while further runs are cancelled leaves them to upkeep.
func TestADeletionThatItsClientLeavesIsDecided(t *testing.T) {
	t.Parallel()
	h := newEnv(t, openSQLite(t))
	h.runs(250, h.version.ID(), h.version.Workflow())
	ctx, leave := context.WithCancel(t.Context())
	h.units.after = leave
	if err := h.workflows.Delete(ctx, h.who, h.version.Workflow(), domain.ExpectOneOf(1)); err != nil {
		t.Error(err)
	}
	if seen := h.seen(); seen != "gone, 150 runs live" {
		t.Errorf("seen is %q", seen)
	}
	if n := h.keepUp(); n != 150 || len(h.notified.All()) != 250 {
		t.Errorf("upkeep cancels %d, and %d are reported", n, len(h.notified.All()))
	}
}
