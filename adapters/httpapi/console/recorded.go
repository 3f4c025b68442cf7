package console

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/audit"
)

// actions are what the audit log calls the routes that change an account.
var actions = map[string]string{
	"PATCH /session":       "changeUser",
	"POST /password":       "changePassword",
	"POST /links/:token":   "useLink",
	"DELETE /sessions/:id": "endSession",
	"GET /oidc/callback":   "joinIdentity",

	"POST " + linkPrefix + ":token": "useLink",
}

// recorded has the audit log say that somebody changes an account. It is the person's own: whose it is says who that is.
func recorded(c *gin.Context) {
	if action, ok := actions[c.Request.Method+" "+strings.TrimPrefix(c.FullPath(), apiPrefix)]; ok {
		exchange.Acting(c, audit.Act{Actor: audit.Actor{Kind: audit.ByMember}, Action: action})
	}
}
