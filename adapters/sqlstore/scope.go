package sqlstore

import (
	"fmt"

	"github.com/sluicehq/sluice/domain/tenant"
)

// scopeCondition is what holds for the records of a table that belong to a sub-tenant, for
// which %[1]s stands.
type scopeCondition string

const (
	bySubTenant = scopeCondition(`sub_tenant_id = %[1]s`)
	byTrigger   = scopeCondition(`EXISTS (SELECT 1 FROM triggers p WHERE p.tenant_id = trigger_fires.tenant_id AND p.id = trigger_fires.trigger_id
		AND p.sub_tenant_id = %[1]s)`)
	byRun = scopeCondition(`EXISTS (SELECT 1 FROM runs p WHERE p.tenant_id = run_history.tenant_id AND p.id = run_history.run_id AND p.sub_tenant_id = %[1]s)`)
	// An endpoint can move to another sub-tenant, and what was sent to it before must not.
	byEndpointAndEvent = scopeCondition(`EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.tenant_id = webhook_deliveries.tenant_id
			AND p.id = webhook_deliveries.endpoint_id AND p.sub_tenant_id = %[1]s)
		AND EXISTS (SELECT 1 FROM webhook_events p WHERE p.tenant_id = webhook_deliveries.tenant_id
			AND p.id = webhook_deliveries.event_id AND p.sub_tenant_id = %[1]s)`)
	// unconditional is for what every scope of a tenant reaches, and where another condition is made.
	unconditional = scopeCondition("")
)

// bySubTenantOf is bySubTenant of a table under another name.
func bySubTenantOf(name string) scopeCondition { return scopeCondition(name+".") + bySubTenant }

func (c scopeCondition) to(placeholder string) string { return fmt.Sprintf(string(c), placeholder) }

// within returns the arguments of a statement on records of a tenant, which is the first one,
// and what to append to its conditions for it to stay within the scope: nothing where that is
// the whole tenant.
func within(scope tenant.Scope, c scopeCondition, args ...any) (condition string, all []any) {
	return c.within(scope, append([]any{string(scope.Tenant())}, args...))
}

// within does the same with arguments of which the tenant need not be the first.
func (c scopeCondition) within(scope tenant.Scope, args []any) (condition string, all []any) {
	sub := scope.SubTenant()
	if sub == nil {
		return "", args
	}
	args = append(args, string(*sub))
	return " AND " + c.to(fmt.Sprintf("$%d", len(args))), args
}
