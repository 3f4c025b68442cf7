package core

import (
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/domain/tenant"
)

// ScopeCondition is what holds for the records of a table that a narrow scope reaches. The
// zero value is for what every scope of a tenant reaches, and where another condition is made.
type ScopeCondition struct {
	SubTenant string // holds for the records of a sub-tenant, for which %[1]s stands
	Workflow  string // holds for those of workflows, for whose list %[1]s stands; empty where they belong to none, so that nobody reaches them through workflows
}

// BySubTenant is for tables that have the sub-tenant as a column.
var BySubTenant = ScopeCondition{SubTenant: `sub_tenant_id = %[1]s`}

// ByWorkflow is for tables that have the sub-tenant, and their workflow in a column.
func ByWorkflow(column string) ScopeCondition {
	return ScopeCondition{BySubTenant.SubTenant, column + ` IN (%[1]s)`}
}

// ByVersion is for tables that have the sub-tenant, and the version of a workflow in a column.
func ByVersion(table, column string) ScopeCondition {
	return ScopeCondition{BySubTenant.SubTenant, `EXISTS (SELECT 1 FROM workflow_versions o WHERE o.tenant_id = ` + table + `.tenant_id
		AND o.id = ` + table + `.` + column + ` AND o.workflow_id IN (%[1]s))`}
}

// Of is the condition for a table under another name; what names the table itself stays.
func (c ScopeCondition) Of(name string) ScopeCondition {
	c.SubTenant = name + "." + c.SubTenant
	if c.Workflow != "" && !strings.HasPrefix(c.Workflow, "EXISTS") {
		c.Workflow = name + "." + c.Workflow
	}
	return c
}

// conditions are what has to hold within the scope; arg adds a parameter and returns its
// placeholder.
func (c ScopeCondition) conditions(scope tenant.Scope, arg func(any) string) (all []string) {
	if c == (ScopeCondition{}) {
		return nil
	}
	if sub := scope.SubTenant(); sub != nil {
		all = append(all, fmt.Sprintf(c.SubTenant, arg(string(*sub))))
	}
	workflows := scope.Workflows()
	switch {
	case len(workflows) == 0:
	case c.Workflow == "":
		all = append(all, "1 = 0")
	default:
		list := make([]string, len(workflows))
		for i, id := range workflows {
			list[i] = arg(id)
		}
		all = append(all, fmt.Sprintf(c.Workflow, strings.Join(list, ", ")))
	}
	return all
}

// Within returns the arguments of a statement on records of a tenant, which is the first one,
// and what to append to its conditions for it to stay within the scope: nothing where that is
// the whole tenant.
func Within(scope tenant.Scope, c ScopeCondition, args ...any) (condition string, all []any) {
	return c.Within(scope, append([]any{string(scope.Tenant())}, args...))
}

// Within does the same with arguments of which the tenant need not be the first.
func (c ScopeCondition) Within(scope tenant.Scope, args []any) (condition string, all []any) {
	for _, holds := range c.conditions(scope, func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}) {
		condition += " AND " + holds
	}
	return condition, args
}
