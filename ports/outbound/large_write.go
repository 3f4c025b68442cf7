package outbound

import "context"

// LargeWriteBytes is from how many bytes on a unit of work that writes them is a large one.
const LargeWriteBytes = 64 << 10

type largeWrite struct{}

// WithLargeWrite marks the units of work under ctx as large when they write that many bytes.
// Where units write one after another, a large one waits for other large ones before it gets
// into line: whoever writes little then waits for at most one of them.
func WithLargeWrite(ctx context.Context, bytes int) context.Context {
	if bytes < LargeWriteBytes {
		return ctx
	}
	return context.WithValue(ctx, largeWrite{}, true)
}

// IsLargeWrite says whether units of work under ctx are large: see [WithLargeWrite].
func IsLargeWrite(ctx context.Context) bool { return ctx.Value(largeWrite{}) != nil }
