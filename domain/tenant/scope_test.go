package tenant_test

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestAScopeCovers(t *testing.T) {
	for claim, c := range map[string]struct {
		scope tenant.Scope
		want  map[tenant.SubTenantID]bool
	}{
		"every record of a tenant":          {tenant.All("tenant_1"), map[tenant.SubTenantID]bool{"": true, "a": true, "b": true}},
		"the records of one sub-tenant":     {tenant.Only("tenant_1", "a"), map[tenant.SubTenantID]bool{"": false, "a": true, "b": false}},
		"the records of no sub-tenant":      {tenant.Only("tenant_1", ""), map[tenant.SubTenantID]bool{"": true, "a": false, "b": false}},
		"one workflow of a sub-tenant":      {tenant.Only("tenant_1", "a").OfWorkflows([]string{"wf_2", "wf_1", "wf_2"}), map[tenant.SubTenantID]bool{"": false, "a": true, "b": false}},
		"nothing when it is the zero value": {tenant.Scope{}, map[tenant.SubTenantID]bool{"": false, "a": false, "b": false}},
	} {
		t.Run(claim, func(t *testing.T) {
			for sub, want := range c.want {
				if got := c.scope.Covers(sub, "wf_1"); got != want {
					t.Errorf("it covers %q: %t", sub, got)
				}
				if c.scope.Covers(sub, "wf_3") != (want && c.scope.Workflows() == nil) {
					t.Errorf("it covers another workflow of %q: %t", sub, !want)
				}
				if err := c.scope.Check(sub); errors.Is(err, domain.Forbidden) == (want && c.scope.Workflows() == nil) {
					t.Errorf("%q: %v", sub, err)
				}
			}
		})
	}
}

func TestACallerWithANarrowScopeManagesNothingOfTheTenantAsAWhole(t *testing.T) {
	narrow := tenant.Caller{Scope: tenant.Only("tenant_1", "a"), KeyType: tenant.Secret}
	for operation, want := range map[tenant.Operation]bool{
		tenant.ReadWorkflows: true, tenant.CreateWorkflow: true, tenant.ReadCustomNodes: true, tenant.CreateSubTenant: true, tenant.StartRun: true,
		tenant.CreateCustomNode: false, tenant.CheckCustomNode: false, tenant.CreateKey: false, tenant.ChangeSettings: false, tenant.RotateNodeSecret: false,
	} {
		if err := narrow.May(operation); (err == nil) != want || err != nil && !errors.Is(err, domain.Forbidden) {
			t.Errorf("%s: %v", operation, err)
		}
		if err := tenant.Operator("tenant_1").May(operation); err != nil {
			t.Errorf("the operator, %s: %v", operation, err)
		}
	}
}
