package nodes

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// HeartbeatTimeout bounds a heartbeat: somebody waits for its answer.
const HeartbeatTimeout = 5 * time.Second

// Checks implements inbound.NodeChecks. It asks between units of work, never in one.
type Checks struct {
	work   outbound.UnitOfWork
	runner outbound.NodeRunner
	clock  outbound.Clock
}

var _ inbound.NodeChecks = (*Checks)(nil)

// NewChecks returns the service.
func NewChecks(work outbound.UnitOfWork, runner outbound.NodeRunner, clock outbound.Clock) *Checks {
	return &Checks{work: work, runner: runner, clock: clock}
}

// errUnrecorded ends a unit that only looks for a recorded outcome.
var errUnrecorded = errors.New("nothing is recorded under the idempotency key")

// Check asks the endpoint of a custom node whether it lives.
func (s *Checks) Check(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id node.CustomID) (found inbound.CustomNode, err error) {
	if err = who.May(tenant.CheckCustomNode); err != nil {
		return found, err
	}
	if err := s.unrecorded(ctx, who.Tenant(), idempotency); err != nil {
		return found, err
	}
	_, err = s.find(ctx, who.Scope, id, func(ctx context.Context, st outbound.Stores, n *node.Custom, health node.Health) error {
		now := s.clock.Now()
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err // a repeat came in between
		}
		if err := st.NodeHealth.Record(ctx, who.Tenant(), id, health); err != nil {
			return err
		}
		found = inbound.CustomNode{Custom: n, Health: health}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, found, now)
	})
	if err != nil {
		return inbound.CustomNode{}, err
	}
	return found, nil
}

// unrecorded returns nil unless a repeat is to be answered from what is recorded.
func (s *Checks) unrecorded(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey) error {
	if !idempotency.Wanted() {
		return nil
	}
	err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, owner, idempotency, s.clock.Now()); err != nil {
			return err
		}
		return errUnrecorded
	})
	if errors.Is(err, errUnrecorded) {
		return nil
	}
	return err
}

// target is whom to ask.
type target struct {
	owner    tenant.ID
	endpoint string
	secrets  []domain.SigningSecret
}

// targetOf finds whom to ask. endpoint chooses it, given the tenant's.
func (s *Checks) targetOf(ctx context.Context, st outbound.Stores, owner tenant.ID, endpoint func(tenants string) string) (target, error) {
	ten, err := st.Tenants.Get(ctx, owner)
	if err != nil {
		return target{}, err
	}
	t := target{owner: owner, endpoint: endpoint(ten.Settings().CustomNodeEndpoint)}
	secret, err := st.NodeSecrets.Get(ctx, owner)
	switch {
	case errors.Is(err, domain.NotFound): // the runner says what to do about it
	case err != nil:
		return target{}, err
	default:
		t.secrets = secret.Signing(s.clock.Now())
	}
	return t, nil
}

// find asks the endpoint of a custom node and has what it found noted, in a unit of its
// own, with the custom node as it is by then.
func (s *Checks) find(ctx context.Context, scope tenant.Scope, id node.CustomID,
	note func(context.Context, outbound.Stores, *node.Custom, node.Health) error) (health node.Health, err error) {
	var t target
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		n, err := st.CustomNodes.Get(ctx, scope, id)
		if err == nil {
			t, err = s.targetOf(ctx, st, scope.Tenant(), n.EndpointOr)
		}
		return err
	})
	if err != nil {
		return health, err
	}
	if health, err = s.ask(ctx, t); err != nil {
		return health, err
	}
	return health, s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		n, err := st.CustomNodes.Get(ctx, scope, id)
		if err != nil {
			return err
		}
		return note(ctx, st, n, health)
	})
}

// ask sends the heartbeat. Whatever the endpoint does is found.
func (s *Checks) ask(ctx context.Context, t target) (node.Health, error) {
	at := s.clock.Now()
	got, err := s.runner.Health(ctx, outbound.HealthCheck{Tenant: t.owner, Endpoint: t.endpoint, Secrets: t.secrets, Timeout: HeartbeatTimeout})
	if err != nil {
		return node.Health{}, err
	}
	return node.Health{
		Endpoint: t.endpoint, Healthy: got.Healthy, CheckedAt: at, Latency: got.Latency.Truncate(time.Millisecond), Code: got.Code, Message: got.Message,
	}, nil
}
