package execution

import (
	"fmt"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// CallMemory is what a call of a node takes for as long as it is under way, in bytes, besides what
// it sends.
const CallMemory = 256 << 10

// CallOf is the call that an attempt makes, but for where a custom node runs.
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
		return run.AttemptCompleted{Node: of.Node, Attempt: of.Attempt, Output: o.Output, Log: o.Log}, nil
	case outbound.NodeFailed:
		return run.AttemptFailed{
			Node: of.Node, Attempt: of.Attempt, Code: o.Code, Message: o.Message, Retryable: o.Retryable, RetryAfter: o.RetryAfter, Log: o.Log,
		}, nil
	case outbound.NodePaused:
		return run.AttemptPaused{Node: of.Node, Attempt: of.Attempt, Event: o.Event, Timeout: o.Timeout}, nil
	default:
		return nil, fmt.Errorf("the outcome %T is not one that exists", o)
	}
}
