package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

func orders(t testing.TB) *workflow.Workflow {
	t.Helper()
	d := workflow.Draft{Name: "Orders", Description: pointer("Takes orders.")}
	wf, err := workflow.New("wf_1", owner, "shop", d, morning)
	if err != nil {
		t.Fatal(err)
	}
	return wf
}

func ordersState() workflow.State {
	return workflow.State{
		ID: "wf_1", Tenant: owner, SubTenant: "shop", Name: "Orders", Description: pointer("Takes orders."),
		Active: true, CreatedAt: morning, UpdatedAt: morning, Revision: 1,
	}
}

func TestNewWorkflow(t *testing.T) {
	t.Run("is active and keeps what it was made of", func(t *testing.T) {
		if diff := cmp.Diff(ordersState(), orders(t).State()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("accepts the longest texts, counted in characters", func(t *testing.T) {
		d := workflow.Draft{Name: strings.Repeat("ü", 255), Description: pointer(strings.Repeat("ü", 1000))}
		if _, err := workflow.New("wf_1", owner, tenant.SubTenantID(strings.Repeat("ü", 255)), d, morning); err != nil {
			t.Error(err)
		}
	})
}

func TestNewWorkflowReportsEverythingAtOnce(t *testing.T) {
	wrongType := domain.Violation{Field: "description", Message: "must be a string, not a number", Code: domain.WrongType}
	tests := map[string]struct {
		sub   tenant.SubTenantID
		draft workflow.Draft
		want  []domain.Violation
	}{
		"a missing name": {
			draft: workflow.Draft{},
			want:  []domain.Violation{{Field: "name", Message: "must not be empty", Code: domain.Required}},
		},
		"texts that are too long": {
			sub:   tenant.SubTenantID(strings.Repeat("s", 256)),
			draft: workflow.Draft{Name: strings.Repeat("n", 256), Description: pointer(strings.Repeat("d", 1001))},
			want: []domain.Violation{
				{Field: "name", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "description", Message: "must be at most 1000 characters long, not 1001", Code: domain.TooLong},
				{Field: "subTenantId", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
			},
		},
		"what was found while reading, once for each field": {
			draft: workflow.Draft{Description: pointer(strings.Repeat("d", 1001)), Malformed: []domain.Violation{wrongType}},
			want:  []domain.Violation{wrongType, {Field: "name", Message: "must not be empty", Code: domain.Required}},
		},
		"a sub-tenant that is not printable": {
			sub: "a\tb", draft: workflow.Draft{Name: "n"},
			want: []domain.Violation{{Field: "subTenantId", Message: `must consist of printable characters, unlike '\t'`, Code: domain.BadText}},
		},
	}
	for claim, tt := range tests {
		t.Run(claim, func(t *testing.T) {
			wf, err := workflow.New("wf_1", owner, tt.sub, tt.draft, morning)
			if wf != nil {
				t.Error("there is a workflow besides the error")
			}
			wantError(t, err, domain.Invalid, "workflow_invalid", tt.want...)
		})
	}
}

func TestRevise(t *testing.T) {
	tests := map[string]struct {
		patch workflow.Patch
		want  func(*workflow.State)
	}{
		"an empty patch is no update":               {workflow.Patch{}, func(*workflow.State) {}},
		"a patch with the same values is no update": {workflow.Patch{Name: pointer("Orders"), Description: pointer("Takes orders."), Active: pointer(true)}, func(*workflow.State) {}},
		"a new name": {workflow.Patch{Name: pointer("Sales")}, func(s *workflow.State) {
			s.Name, s.UpdatedAt = "Sales", noon
		}},
		"an empty description differs from none": {workflow.Patch{Description: pointer("")}, func(s *workflow.State) {
			s.Description, s.UpdatedAt = pointer(""), noon
		}},
		"no description any more": {workflow.Patch{Description: pointer("ignored"), RemoveDescription: true}, func(s *workflow.State) {
			s.Description, s.UpdatedAt = nil, noon
		}},
		"switched off": {workflow.Patch{Active: pointer(false)}, func(s *workflow.State) {
			s.Active, s.UpdatedAt = false, noon
		}},
	}
	for claim, tt := range tests {
		t.Run(claim, func(t *testing.T) {
			wf, want := orders(t), ordersState()
			tt.want(&want)
			if err := wf.Revise(tt.patch, noon); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, wf.State()); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a patch that breaks a rule changes nothing", func(t *testing.T) {
		wf := orders(t)
		wrongType := domain.Violation{Field: "isActive", Message: "must be true or false, not a string", Code: domain.WrongType}
		patch := workflow.Patch{
			Name: pointer(""), Description: pointer("new"), Active: pointer(false), Malformed: []domain.Violation{wrongType},
		}
		wantError(t, wf.Revise(patch, noon), domain.Invalid, "workflow_invalid", wrongType,
			domain.Violation{Field: "name", Message: "must not be empty", Code: domain.Required})
		if diff := cmp.Diff(ordersState(), wf.State()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestToggleInvertsAndCountsAsUpdate(t *testing.T) {
	wf, want := orders(t), ordersState()
	want.Active, want.UpdatedAt = false, noon
	wf.Toggle(noon)
	if diff := cmp.Diff(want, wf.State()); diff != "" {
		t.Error(diff)
	}
	wf.Toggle(noon)
	if !wf.Active() {
		t.Error("toggled twice, it is not active again")
	}
}

func TestWorkflowSharesNothing(t *testing.T) {
	s := ordersState()
	wf := workflow.Restore(s)
	*s.Description = "changed from outside"
	*wf.State().Description = "changed from outside"
	*wf.Description() = "changed from outside"
	if diff := cmp.Diff(ordersState(), wf.State()); diff != "" {
		t.Error(diff)
	}
}

func TestWorkflowGettersTellItsState(t *testing.T) {
	wf := workflow.Restore(ordersState())
	got := workflow.State{
		ID: wf.ID(), Tenant: wf.Tenant(), SubTenant: wf.SubTenant(), Name: wf.Name(), Description: wf.Description(),
		Active: wf.Active(), CreatedAt: wf.CreatedAt(), UpdatedAt: wf.UpdatedAt(), Revision: wf.Revision(),
	}
	if diff := cmp.Diff(ordersState(), got); diff != "" {
		t.Error(diff)
	}
}
