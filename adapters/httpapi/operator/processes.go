package operator

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
)

// processesBody is the processes that are alive.
type processesBody struct {
	Items         []processBody `json:"items"`
	RequiredLevel int           `json:"requiredLevel"`
}

type processBody struct {
	ID        string `json:"id"`
	Version   string `json:"version"`
	Level     int    `json:"level"`
	Role      string `json:"role"`
	StartedAt string `json:"startedAt"`
	SeenAt    string `json:"seenAt"`
}

// listProcesses answers GET /processes.
func (a *api) listProcesses(c *gin.Context) error {
	live, required, err := a.processes.Alive(c.Request.Context())
	if err := cmp.Or(err, exchange.ReportIgnored(c)); err != nil {
		return err
	}
	body := processesBody{Items: []processBody{}, RequiredLevel: int(required)}
	for _, p := range live {
		body.Items = append(body.Items, processBody{
			ID: string(p.ID), Version: p.Version, Level: int(p.Level), Role: p.Role, StartedAt: exchange.Timestamp(p.StartedAt), SeenAt: exchange.Timestamp(p.SeenAt),
		})
	}
	return exchange.WriteJSON(c, http.StatusOK, body)
}

// queuesBody is what waits for the processes.
type queuesBody struct {
	Items []waitingQueueBody `json:"items"`
}

type waitingQueueBody struct {
	Name        string      `json:"name"`
	Waiting     int         `json:"waiting"`
	OldestSince string      `json:"oldestSince,omitempty"`
	Tenants     []shareBody `json:"tenants"`
}

type shareBody struct {
	TenantID string `json:"tenantId"`
	Waiting  int    `json:"waiting"`
}

// listQueues answers GET /queues.
func (a *api) listQueues(c *gin.Context) error {
	queues, err := a.processes.Queues(c.Request.Context())
	if err := cmp.Or(err, exchange.ReportIgnored(c)); err != nil {
		return err
	}
	body := queuesBody{Items: []waitingQueueBody{}}
	for _, q := range queues {
		one := waitingQueueBody{Name: string(q.Name), Waiting: q.Waiting, Tenants: []shareBody{}}
		if q.Since != nil {
			one.OldestSince = exchange.Timestamp(*q.Since)
		}
		for _, share := range q.Shares {
			one.Tenants = append(one.Tenants, shareBody{string(share.Tenant), share.Waiting})
		}
		body.Items = append(body.Items, one)
	}
	return exchange.WriteJSON(c, http.StatusOK, body)
}
