package sqlstore

import (
	"fmt"

	"github.com/sluicehq/sluice/domain/tenant"
)

// belonging is how the records of a table belong to a sub-tenant: a condition with %[1]s in
// the place of the sub-tenant.
type belonging string

const (
	bySubTenant = belonging(`sub_tenant_id = %[1]s`)
	byTrigger   = belonging(`EXISTS (SELECT 1 FROM triggers p WHERE p.tenant_id = trigger_fires.tenant_id AND p.id = trigger_fires.trigger_id
		AND p.sub_tenant_id = %[1]s)`)
	byRun = belonging(`EXISTS (SELECT 1 FROM runs p WHERE p.tenant_id = run_history.tenant_id AND p.id = run_history.run_id AND p.sub_tenant_id = %[1]s)`)
	// An endpoint can move to another sub-tenant, and what was sent to it before must not.
	byEndpointAndEvent = belonging(`EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.tenant_id = webhook_deliveries.tenant_id
			AND p.id = webhook_deliveries.endpoint_id AND p.sub_tenant_id = %[1]s)
		AND EXISTS (SELECT 1 FROM webhook_events p WHERE p.tenant_id = webhook_deliveries.tenant_id
			AND p.id = webhook_deliveries.event_id AND p.sub_tenant_id = %[1]s)`)
	// unconditional is for what every scope of a tenant reaches, and where another condition is made.
	unconditional = belonging("")
)

// bySubTenantOf is bySubTenant of a table under another name.
func bySubTenantOf(name string) belonging { return belonging(name+".") + bySubTenant }

func (b belonging) to(placeholder string) string { return fmt.Sprintf(string(b), placeholder) }

// within returns the arguments of a statement on records of a tenant, which is the first one,
// and what to append to its conditions for it to stay within the scope: nothing where that is
// the whole tenant.
func within(scope tenant.Scope, b belonging, args ...any) (condition string, all []any) {
	return b.within(scope, append([]any{string(scope.Tenant())}, args...))
}

// within does the same with arguments of which the tenant need not be the first.
func (b belonging) within(scope tenant.Scope, args []any) (condition string, all []any) {
	sub := scope.SubTenant()
	if sub == nil {
		return "", args
	}
	args = append(args, string(*sub))
	return " AND " + b.to(fmt.Sprintf("$%d", len(args))), args
}
