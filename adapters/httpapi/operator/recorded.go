package operator

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

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

// recorded has the audit log say who uses a route that changes something: the token of a name.
func recorded(c *gin.Context, token string) {
	if action, ok := actions[c.Request.Method+" "+strings.TrimPrefix(c.FullPath(), prefix)]; ok {
		exchange.Acting(c, audit.Act{Actor: audit.Actor{Kind: audit.ByOperator, ID: token, Name: token}, Action: string(action)})
	}
}
