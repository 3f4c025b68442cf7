package nodes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/application/nodes"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// env is the services on a database of their own, with a tenant.
type env struct {
	*testing.T
	store    *sqlstore.Store
	clock    *portstest.ManualClock
	endpoint *endpoint
	checks   *nodes.Checks
	custom   *nodes.Checked
	secrets  *nodes.Secrets
	settings *nodes.Settings
	who      tenant.Caller
}

func newEnv(t *testing.T) *env {
	t.Helper()
	store := sqlitetest.Open(t)
	w := &env{T: t, store: store, clock: &portstest.ManualClock{}, endpoint: &endpoint{}}
	w.clock.Set(noon)
	random := &portstest.CountedRandom{}
	w.checks = nodes.NewChecks(store, w.endpoint, w.clock)
	w.custom = nodes.NewChecked(nodes.NewCustom(store, w.clock, random), w.checks)
	w.secrets = nodes.NewSecrets(store, w.clock, random)
	w.settings = nodes.NewSettings(tenants.NewSettings(store, w.clock), w.checks)
	w.who = w.tenant(random)
	return w
}

// tenant makes a tenant, and returns who calls with its secret key.
func (w *env) tenant(random outbound.Random) tenant.Caller {
	w.Helper()
	made, err := tenants.New(w.store, w.clock, random).Create(w.Context(), domain.IdempotencyKey{}, tenant.Draft{Name: "Acme"})
	if err != nil {
		w.Fatal(err)
	}
	return tenant.Operator(made.Tenant.ID())
}

// endpoint stands in for what a database cannot produce: the tenant's service.
type endpoint struct {
	outbound.NodeRunner
	mu     sync.Mutex
	asked  []outbound.HealthCheck
	answer outbound.NodeHealth
	err    error
	during func(ctx context.Context) // what goes on while it is asked; nil for nothing
}

// Health notes that it was asked.
func (e *endpoint) Health(ctx context.Context, check outbound.HealthCheck) (outbound.NodeHealth, error) {
	e.mu.Lock()
	e.asked = append(e.asked, check)
	during := e.during
	e.mu.Unlock()
	if during != nil {
		during(ctx)
	}
	return e.answer, e.err
}

// calls returns whom it was asked for since the last call.
func (e *endpoint) calls() (urls []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, check := range e.asked {
		urls = append(urls, check.Endpoint)
	}
	e.asked = nil
	return urls
}

// create makes a custom node.
func (w *env) create(kind, url string) inbound.MadeCustomNode {
	w.Helper()
	made, err := w.custom.Create(w.Context(), w.who, domain.IdempotencyKey{}, node.CustomDraft{Type: kind, Name: kind, Version: "1.0.0", Endpoint: url})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// health reads how the custom node is shown.
func (w *env) health(id node.CustomID) node.Health {
	w.Helper()
	found, err := w.custom.Get(w.Context(), w.who, id)
	if err != nil {
		w.Fatal(err)
	}
	return found.Health
}

// once asks for a command to take effect once, and records what it is told.
func once(key, fingerprint string) domain.IdempotencyKey {
	return domain.IdempotencyKey{Scope: "POST /x", Key: key, Fingerprint: fingerprint, Answer: func(outcome any) ([]byte, error) {
		switch o := outcome.(type) {
		case inbound.MadeCustomNode:
			return []byte(o.ID() + " " + node.CustomID(o.Health.Status())), nil
		case inbound.CustomNode:
			return []byte(o.ID() + " " + node.CustomID(o.Health.Status())), nil
		}
		return nil, fmt.Errorf("the outcome is a %T", outcome)
	}}
}
