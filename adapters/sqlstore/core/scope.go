package core

import (
	"fmt"

	"github.com/sluicehq/sluice/domain/tenant"
)

// ScopeCondition is what holds for the records of a table that belong to a sub-tenant, for
// which %[1]s stands.
type ScopeCondition string

const (
	// BySubTenant is for tables that have the sub-tenant as a column.
	BySubTenant = ScopeCondition(`sub_tenant_id = %[1]s`)
	// Unconditional is for what every scope of a tenant reaches, and where another condition is made.
	Unconditional = ScopeCondition("")
)

// BySubTenantOf is [BySubTenant] of a table under another name.
func BySubTenantOf(name string) ScopeCondition { return ScopeCondition(name+".") + BySubTenant }

func (c ScopeCondition) to(placeholder string) string { return fmt.Sprintf(string(c), placeholder) }

// Within returns the arguments of a statement on records of a tenant, which is the first one,
// and what to append to its conditions for it to stay within the scope: nothing where that is
// the whole tenant.
func Within(scope tenant.Scope, c ScopeCondition, args ...any) (condition string, all []any) {
	return c.Within(scope, append([]any{string(scope.Tenant())}, args...))
}

// Within does the same with arguments of which the tenant need not be the first.
func (c ScopeCondition) Within(scope tenant.Scope, args []any) (condition string, all []any) {
	sub := scope.SubTenant()
	if sub == nil {
		return "", args
	}
	args = append(args, string(*sub))
	return " AND " + c.to(fmt.Sprintf("$%d", len(args))), args
}
