package exchange

import (
	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Acting has what the request changes recorded in the audit log as somebody's act.
func Acting(c *gin.Context, act audit.Act) {
	state := StateOf(c)
	act.RequestID = state.RequestID
	if state.exchange.Address != nil {
		act.Address = state.exchange.Address(c)
	}
	c.Request = c.Request.WithContext(inbound.Acting(c.Request.Context(), act))
}
