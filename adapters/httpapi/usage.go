package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// getUsage answers GET /usage.
func (a *API) getUsage(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadExport(c)
	if err != nil {
		return err
	}
	period := exchange.ReadPeriod(l, usage.ByDay, a.ports.Usage.Now())
	if err := l.Check(c); err != nil {
		return err
	}
	found, err := a.ports.Usage.Get(c.Request.Context(), who, period)
	return exchange.Answer(c, found, err, func(r usage.Report) any { return exchange.UsageOf(r) })
}
