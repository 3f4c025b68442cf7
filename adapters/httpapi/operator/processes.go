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
