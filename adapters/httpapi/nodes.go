package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// registryBody is the answer of the node registry.
type registryBody struct {
	Nodes []nodeTypeBody `json:"nodes"`
	Total int            `json:"total"`
}

// nodeTypeBody is one entry of the registry. The field schemas have the
// specification's own form.
type nodeTypeBody struct {
	Type         string            `json:"type"`
	Name         string            `json:"name"`
	Description  string            `json:"description,omitempty"`
	Version      string            `json:"version"`
	IsBuiltIn    bool              `json:"isBuiltIn"`
	CanPause     bool              `json:"canPause"`
	InputSchema  node.Declarations `json:"inputSchema"`
	OutputSchema node.Declarations `json:"outputSchema"`
	ConfigSchema node.Declarations `json:"configSchema"`
}

// nodeRegistry answers GET /custom-nodes/registry.
func (a *API) nodeRegistry(c *gin.Context, who tenant.Caller) error {
	registry, err := a.ports.Nodes.Registry(c.Request.Context(), who)
	if err != nil {
		return err
	}
	body := registryBody{Nodes: make([]nodeTypeBody, 0, registry.Len()), Total: registry.Len()}
	for _, n := range registry.Entries() {
		body.Nodes = append(body.Nodes, nodeTypeBody{
			Type: string(n.Type), Name: n.Name, Description: n.Description, Version: n.Version.String(),
			IsBuiltIn: n.BuiltIn, CanPause: n.CanPause, InputSchema: n.Input.Declarations(),
			OutputSchema: n.Output.Declarations(), ConfigSchema: n.Config.Declarations(),
		})
	}
	return writeJSON(c, http.StatusOK, body)
}
