package connections

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// TestTimeout bounds the call of a test: somebody waits for its answer.
const TestTimeout = 30 * time.Second

// errUnrecorded ends a unit that only looks for a recorded outcome.
var errUnrecorded = errors.New("nothing is recorded under the idempotency key")

// Test calls a URL with a connection, between units of work.
func (s *Service) Test(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id connection.ID, url string) (done inbound.ConnectionTest, err error) {
	if err = who.May(tenant.TestConnection); err != nil {
		return done, err
	}
	var r domain.Rules
	node.CheckURL(&r, "url", url)
	if err := r.Err("connection_test_invalid", "The connection cannot be tested like that."); err != nil {
		return done, err
	}
	c, err := s.Get(ctx, who, id)
	if err != nil {
		return done, err
	}
	began := s.clock.Now()
	if err := s.unrecorded(ctx, who.Tenant(), idempotency, began); err != nil {
		return done, err
	}
	if done, err = s.call(ctx, c, url); err != nil {
		return done, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, began); err != nil {
			return err // a repeat came in between
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, done, began)
	})
	return done, err
}

// unrecorded returns nil unless a repeat is to be answered from what is recorded.
func (s *Service) unrecorded(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, now time.Time) error {
	if !idempotency.Wanted() {
		return nil
	}
	err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, owner, idempotency, now); err != nil {
			return err
		}
		return errUnrecorded
	})
	if errors.Is(err, errUnrecorded) {
		return nil
	}
	return err
}

// call makes the call as an attempt of an httpRequest that expects any answer.
func (s *Service) call(ctx context.Context, c *connection.Connection, url string) (done inbound.ConnectionTest, err error) {
	began := s.clock.Now()
	credential, err := s.credentials.Credential(ctx, outbound.CredentialUse{Tenant: c.Tenant(), SubTenant: c.SubTenant(), Connection: c.ID()})
	if err != nil {
		return failedTest(err)
	}
	outcome, err := s.runner.Run(ctx, outbound.NodeCall{
		Tenant: c.Tenant(), SubTenant: string(c.SubTenant()), Type: node.HTTPRequest, Attempt: 1, Timeout: TestTimeout, Credential: credential,
		Config: map[string]any{"method": "GET", "url": url, "expectStatus": "100-599"},
	})
	if err != nil {
		return done, err
	}
	done.Took = s.clock.Now().Sub(began).Truncate(time.Millisecond)
	switch o := outcome.(type) {
	case outbound.NodeCompleted:
		output, _ := o.Output.(map[string]any)
		status, _ := output["status"].(float64)
		done.Status = int(status)
	case outbound.NodeFailed:
		done.Code, done.Message = o.Code, o.Message
	}
	return done, nil
}

// failedTest is a test whose connection could not be used, or the error of the gateway.
func failedTest(err error) (done inbound.ConnectionTest, _ error) {
	var known *domain.Error
	if !errors.As(err, &known) || known.Kind == domain.Internal || known.Kind == domain.NotFound {
		return done, err
	}
	return inbound.ConnectionTest{Code: known.Code, Message: known.Message}, nil
}
