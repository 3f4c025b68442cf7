package operator

import (
	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// usageBody is what one tenant used.
type usageBody struct {
	TenantID string `json:"tenantId"`
	exchange.Usage
}

// listUsage answers GET /usage.
func (a *api) listUsage(c *gin.Context) error {
	l, err := exchange.ReadList(c, tenant.SortFields()...)
	if err != nil {
		return err
	}
	f := tenant.Filter{Search: l.Search, ID: exchange.FilterID(l, "tenantId", tenant.IDPrefix, noTenant)}
	period := exchange.ReadPeriod(l, usage.ByMonth, a.usage.Now())
	render := func(r usage.Report) any { return usageBody{string(r.Tenant), exchange.UsageOf(r)} }
	return exchange.AnswerList(c, l, render, func(q domain.Query) (domain.Page[usage.Report], error) {
		return a.usage.List(c.Request.Context(), f, q, period)
	})
}
