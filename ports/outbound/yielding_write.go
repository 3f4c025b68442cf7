package outbound

import "context"

// LargeWriteBytes is from how many bytes on a unit of work that writes them is a large one.
const LargeWriteBytes = 64 << 10

type yieldingWrite struct{}

// WithYieldingWrite marks the units of work under ctx as ones that nobody waits for, as those of a backlog.
// Where units write one after another, such a unit waits for other such units before it gets
// into line, and while others write, all of them take no more than a part of the time: whoever writes something else then waits
// for at most one of them.
func WithYieldingWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, yieldingWrite{}, true)
}

// WithLargeWrite is WithYieldingWrite when the units write at least LargeWriteBytes.
func WithLargeWrite(ctx context.Context, bytes int) context.Context {
	if bytes < LargeWriteBytes {
		return ctx
	}
	return WithYieldingWrite(ctx)
}

// IsYieldingWrite says whether units of work under ctx yield: see [WithYieldingWrite].
func IsYieldingWrite(ctx context.Context) bool { return ctx.Value(yieldingWrite{}) != nil }
