package noderunner

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// runCode runs the code that a node is configured with. It sees the same in every attempt.
func (r *Runner) runCode(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	if r.code == nil {
		return failed("code_disabled", "Code is switched off by whoever operates this gateway."), nil
	}
	source, _ := call.Config["source"].(string)
	values, _ := call.Inputs.(map[string]any)
	timeout := time.Duration(whole(call.Config["timeoutMs"])) * time.Millisecond
	if call.Timeout > 0 {
		timeout = min(timeout, call.Timeout)
	}
	o, err := r.code.Run(ctx, outbound.CodeCall{
		Tenant: call.Tenant, Source: source, Values: values, Now: call.ReachedAt, Seed: call.IdempotencyKey,
		Timeout: timeout, Memory: whole(call.Config["memoryMb"]) << 20, ReserveMemory: call.ReserveMemory,
	})
	var unavailable *domain.Error
	switch {
	case ctx.Err() != nil:
		return nil, stopped(ctx)
	case errors.As(err, &unavailable) && unavailable.Kind == domain.Unavailable:
		f := failed("code_unavailable", "%s", unavailable.Message)
		f.Retryable = true
		return f, nil
	case err != nil:
		return nil, err
	case o.Failure != nil:
		f := *o.Failure
		f.Message, f.Log = clip(f.Message, maxText), o.Log
		return f, nil
	}
	if err := checkText(o.Output); err != nil {
		f := failed("output_invalid", "The output must be a JSON value, but %s.", err)
		f.Log = o.Log
		return f, nil
	}
	return outbound.NodeCompleted{Output: o.Output, Log: o.Log}, nil
}
