package httpapi

import (
	"cmp"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// registryBody is the answer of the node registry.
type registryBody struct {
	Nodes []nodeTypeBody `json:"nodes"`
	Total int            `json:"total"`
}

// nodeTypeBody is one entry of the registry. The field schemas have the
// form in which they are declared.
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
	if err := cmp.Or(err, exchange.ReportIgnored(c)); err != nil {
		return err
	}
	text, err := a.registries.rendered(who.Tenant(), registry)
	if err != nil {
		return err
	}
	exchange.Write(c, http.StatusOK, text)
	return nil
}

// maxRegistries bounds how many rendered registries are kept.
const maxRegistries = 1 << 12

// registries keeps the registry of each tenant as it was last answered. The same
// registry, pointer and all, has the same answer (inbound.Nodes).
type registries struct {
	mu   sync.RWMutex
	kept map[tenant.ID]renderedRegistry
}

type renderedRegistry struct {
	of   *node.Registry
	text []byte
}

func (r *registries) rendered(owner tenant.ID, of *node.Registry) ([]byte, error) {
	r.mu.RLock()
	found := r.kept[owner]
	r.mu.RUnlock()
	if found.of == of {
		return found.text, nil
	}
	text, err := exchange.Encode(renderRegistry(of))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || len(r.kept) >= maxRegistries {
		r.kept = make(map[tenant.ID]renderedRegistry)
	}
	r.kept[owner] = renderedRegistry{of, text}
	return text, nil
}

func renderRegistry(registry *node.Registry) registryBody {
	body := registryBody{Nodes: make([]nodeTypeBody, 0, registry.Len()), Total: registry.Len()}
	for _, n := range registry.Entries() {
		body.Nodes = append(body.Nodes, nodeTypeBody{
			Type: string(n.Type), Name: n.Name, Description: n.Description, Version: n.Version.String(),
			IsBuiltIn: n.BuiltIn, CanPause: n.CanPause, InputSchema: n.Input.Declarations(),
			OutputSchema: n.Output.Declarations(), ConfigSchema: n.Config.Declarations(),
		})
	}
	return body
}
