package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// CallMemory is what a call of a node takes for as long as it is under way, in bytes, besides what
// it sends.
const CallMemory = 256 << 10

const codeNoEndpoint = "node_endpoint_not_found"

// Attempts makes attempts at the nodes that a runner executes, wherever those run.
type Attempts struct {
	Nodes       outbound.NodeRunner
	Endpoints   outbound.NodeEndpoints
	Credentials outbound.Credentials
}

// Make makes an attempt once. reserve is that of outbound.NodeCall; the error that of its runner.
func (a Attempts) Make(ctx context.Context, e run.Execute, reserve func(ctx context.Context, size int64) error) (run.Fact, error) {
	call := CallOf(e)
	call.ReserveMemory = reserve
	if !e.BuiltIn {
		to, err := a.Endpoints.Endpoint(ctx, e.Tenant, e.Type, e.Version)
		if err != nil && domain.KindOf(err) == domain.NotFound {
			return run.AttemptFailed{Node: e.Node, Attempt: e.Attempt, Code: codeNoEndpoint, Message: MessageOr(err, "The node type has no endpoint.")}, nil
		}
		if err != nil {
			return nil, err
		}
		call.Endpoint, call.Secrets = to.URL, to.Secrets
	}
	if e.Connection != "" {
		var refused *run.AttemptFailed
		var err error
		if call.Credential, refused, err = a.credential(ctx, e); err != nil {
			return nil, err
		}
		if refused != nil {
			return *refused, nil
		}
		call.RenewCredential = func(ctx context.Context, token connection.Text) (connection.Credential, error) {
			return a.Credentials.Credential(ctx, outbound.CredentialUse{Tenant: e.Tenant, SubTenant: e.SubTenant, Connection: e.Connection, Refused: token})
		}
	}
	outcome, err := a.Nodes.Run(ctx, call)
	if err != nil {
		return nil, err
	}
	return FactOf(e, outcome)
}

// credential asks for what the call bears. Where there is nothing to bear, the attempt has
// failed and nothing is sent.
func (a Attempts) credential(ctx context.Context, e run.Execute) (connection.Credential, *run.AttemptFailed, error) {
	made, err := a.Credentials.Credential(ctx, outbound.CredentialUse{Tenant: e.Tenant, SubTenant: e.SubTenant, Connection: e.Connection})
	var known *domain.Error
	if err == nil || !errors.As(err, &known) || known.Kind == domain.Internal {
		return made, nil, err
	}
	return made, &run.AttemptFailed{
		Node: e.Node, Attempt: e.Attempt, Code: known.Code, Message: known.Message, Retryable: known.Kind == domain.Unavailable, RetryAfter: known.RetryAfter,
	}, nil
}

// MessageOr is the message of an error for its tenant.
func MessageOr(err error, otherwise string) string {
	var e *domain.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return otherwise
}

// CallOf is the call that an attempt makes, without where a custom node runs.
func CallOf(e run.Execute) outbound.NodeCall {
	return outbound.NodeCall{
		Tenant: e.Tenant, SubTenant: string(e.SubTenant), RunID: string(e.Run), EntityID: e.Entity, NodeID: string(e.Node),
		Type: e.Type, Version: e.Version, CanPause: e.CanPause, Attempt: e.Attempt, Inputs: e.Input, Config: e.Config,
		IdempotencyKey: e.IdempotencyKey, Timeout: e.Timeout, ReachedAt: e.ReachedAt,
	}
}

// FactOf turns the outcome of an attempt into a fact for the run.
func FactOf(of run.Execute, o outbound.NodeOutcome) (run.Fact, error) {
	switch o := o.(type) {
	case outbound.NodeCompleted:
		return run.AttemptCompleted{Node: of.Node, Attempt: of.Attempt, Output: o.Output, Log: o.Log, Redacted: o.Redacted}, nil
	case outbound.NodeFailed:
		return run.AttemptFailed{
			Node: of.Node, Attempt: of.Attempt, Code: o.Code, Message: o.Message, Retryable: o.Retryable, RetryAfter: o.RetryAfter, Log: o.Log, Redacted: o.Redacted,
		}, nil
	case outbound.NodePaused:
		return run.AttemptPaused{Node: of.Node, Attempt: of.Attempt, Event: o.Event, Timeout: o.Timeout, Redacted: o.Redacted}, nil
	default:
		return nil, fmt.Errorf("the outcome %T is not one that exists", o)
	}
}
