package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/audit"
)

type acting struct{}

// Acting marks what is done under ctx as somebody's act, so that what it changes is recorded in the audit log. It says who
// that is and decides nothing: who may do what follows from the caller.
func Acting(ctx context.Context, act audit.Act) context.Context {
	return context.WithValue(ctx, acting{}, act)
}

// ActOf returns whose act it is; ok is false for what the gateway does for itself.
func ActOf(ctx context.Context) (act audit.Act, ok bool) {
	act, ok = ctx.Value(acting{}).(audit.Act)
	return act, ok
}
