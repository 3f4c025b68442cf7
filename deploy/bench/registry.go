package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/nodes"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// registry measures GET /custom-nodes/registry against a server on the same
// framework that sends the same bytes and does nothing else.
type registry struct {
	env     *env
	request loadRequest
	bare    *bareServer
}

const (
	registryNodes       = 20 // built-in and custom together
	registryConnections = 64

	// registryTenants share the load, for together they may be asked more than one
	// tenant's limit allows.
	registryTenants = 8
)

func (r *registry) about() about {
	return about{
		name: "registry", aim: 0.85,
		what: fmt.Sprintf("GET /custom-nodes/registry, %d nodes, %d connections", registryNodes, registryConnections),
	}
}

func (r *registry) prepare(ctx context.Context, e *env) error {
	r.env = e
	r.request = loadRequest{Method: http.MethodGet, Path: "/custom-nodes/registry"}
	var owners []tenant.ID
	for i := range registryTenants {
		ten, err := e.newTenant(ctx, fmt.Sprintf("bench registry %d", i+1))
		if err != nil {
			return err
		}
		r.request.APIKeys = append(r.request.APIKeys, ten.SecretKey)
		owners = append(owners, tenant.ID(ten.ID))
	}
	if err := addCustomNodes(ctx, e.database.URL, owners); err != nil {
		return err
	}
	var err error
	if r.bare, err = e.startLike(ctx, "registry", r.request); err != nil {
		return err
	}
	e.atClose(r.bare.Stop)
	return nil
}

// addCustomNodes fills every tenant's registry up.
func addCustomNodes(ctx context.Context, databaseURL string, owners []tenant.ID) error {
	store, err := postgres.Open(ctx, databaseURL, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // every unit is committed by then
	service := nodes.NewCustom(store, system.Clock{}, system.Random{})
	like, ok := node.BuiltIn(node.HTTPRequest)
	if !ok {
		return fmt.Errorf("there is no built-in node %s to take as a pattern", node.HTTPRequest)
	}
	for _, owner := range owners {
		for i := len(node.BuiltIns(tenant.English)); i < registryNodes; i++ {
			_, err := service.Create(ctx, tenant.Operator(owner), domain.IdempotencyKey{}, node.CustomDraft{
				Type: fmt.Sprintf("benchNode%d", i), Name: fmt.Sprintf("Node %d of the tenant", i), Version: "1.0.0",
				Description: "Stands for a node that a tenant has defined.", Endpoint: "https://example.com/nodes",
				InputSchema: like.Input.Declarations(), OutputSchema: like.Output.Declarations(), ConfigSchema: like.Config.Declarations(),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *registry) baseline(ctx context.Context, period time.Duration) (load, error) {
	return r.env.runWrk(ctx, r.bare.url, r.request, registryConnections, period)
}

func (r *registry) gateway(ctx context.Context, period time.Duration) (load, error) {
	return r.env.loadGateway(ctx, r.request, registryConnections, period)
}
