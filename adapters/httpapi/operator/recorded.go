package operator

import "github.com/sluicehq/sluice/domain/tenant"

// actions are what the audit log calls the routes that change something.
var actions = map[string]tenant.Operation{
	"POST /tenants":                            "createTenant",
	"PATCH /tenants/:id":                       "changeTenant",
	"DELETE /tenants/:id":                      "deleteTenant",
	"POST /tenants/:id/suspend":                "suspendTenant",
	"POST /tenants/:id/resume":                 "resumeTenant",
	"POST /tenants/:id/api-keys":               tenant.CreateKey,
	"DELETE /tenants/:id/api-keys/:keyId":      tenant.RevokeKey,
	"POST /tenants/:id/api-keys/:keyId/rotate": tenant.RotateKey,
	"POST /runs/:id/cancel":                    tenant.CancelRun,
	"POST /runs/:id/retry":                     tenant.RetryRun,
}
