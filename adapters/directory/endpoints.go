package directory

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Endpoints implements outbound.NodeEndpoints on what a [Directory] keeps of each tenant.
type Endpoints struct {
	known *Directory
	clock outbound.Clock
}

var _ outbound.NodeEndpoints = (*Endpoints)(nil)

// NewEndpoints returns the endpoints that the directory keeps. The clock says which
// secrets have ended.
func NewEndpoints(known *Directory, clock outbound.Clock) *Endpoints {
	return &Endpoints{known: known, clock: clock}
}

// nodeEndpoints is where the custom nodes of a tenant run.
type nodeEndpoints struct {
	urls   map[node.Type]map[string]string // by version; empty where there is none
	secret *tenant.NodeSecret              // nil when there is none
}

// Endpoint returns where a version of a node type runs.
func (e *Endpoints) Endpoint(ctx context.Context, owner tenant.ID, t node.Type, version string) (outbound.NodeEndpoint, error) {
	of, err := e.known.nodeEndpoints(ctx, owner)
	if err != nil {
		return outbound.NodeEndpoint{}, err
	}
	versions, known := of.urls[t]
	if !known {
		return outbound.NodeEndpoint{}, notRunning("There is no active custom node of the type %s.", t)
	}
	url, exact := versions[version]
	if !exact {
		url = of.successor(t, version)
	}
	if url == "" {
		return outbound.NodeEndpoint{}, notRunning("Neither the custom node %s nor the settings of its tenant name an endpoint to call.", t)
	}
	found := outbound.NodeEndpoint{URL: url}
	if of.secret != nil {
		found.Secrets = of.secret.Signing(e.clock.Now())
	}
	return found, nil
}

func notRunning(format string, args ...any) error {
	return domain.Fail(domain.NotFound, "node_endpoint_not_found", format, args...)
}

// successor is where a version runs whose custom node has moved on to a higher one while
// runs still use it: at the lowest version above it. Empty when there is none.
func (of *nodeEndpoints) successor(t node.Type, version string) (url string) {
	var gone, next node.SemVer
	var err error
	if gone, err = node.ParseSemVer(version); err != nil {
		return ""
	}
	for text, at := range of.urls[t] {
		v, err := node.ParseSemVer(text)
		if err == nil && v.Compare(gone) > 0 && (next.IsZero() || v.Compare(next) < 0) {
			next, url = v, at
		}
	}
	return url
}

// nodeEndpoints returns what is known of a tenant's custom nodes.
func (d *Directory) nodeEndpoints(ctx context.Context, owner tenant.ID) (*nodeEndpoints, error) {
	d.mu.RLock()
	found, since := d.endpoints[owner], d.changes
	d.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	found = &nodeEndpoints{urls: make(map[node.Type]map[string]string)}
	err := d.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, owner)
		if err != nil {
			return err
		}
		custom, err := st.Addresses.Active(ctx, tenant.All(owner))
		if err != nil {
			return err
		}
		shared := ten.Settings().CustomNodeEndpoint
		for _, n := range custom {
			if found.urls[n.Type] == nil {
				found.urls[n.Type] = make(map[string]string, 1)
			}
			found.urls[n.Type][n.Version] = cmp.Or(n.URL, shared)
		}
		found.secret, err = st.NodeSecrets.Get(ctx, owner)
		if errors.Is(err, domain.NotFound) {
			return nil // nothing was ever called
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.keep(since, func() {
		makeRoom(d.endpoints, maxEndpoints)
		d.endpoints[owner] = found
	})
	return found, nil
}
