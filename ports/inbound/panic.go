package inbound

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is the error that a panic becomes which a [Worker], a [Scheduler], a [Dispatcher] or a batch of
// requests contains, so that one record that leads to a defect does not stop all others.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked; it shows addresses, and nothing of what a record holds
}

// Panicked makes the error of what recover returned, with the stack of the caller.
func Panicked(thrown any) *Panic { return &Panic{Value: thrown, Stack: debug.Stack()} }

// RecoverPanic calls fn and returns its error, or a [Panic] wrapped in what was being done.
func RecoverPanic(what string, fn func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%s: %w", what, Panicked(thrown))
		}
	}()
	return fn()
}

// IsPanic says whether the error is or wraps a [Panic].
func IsPanic(err error) bool {
	_, is := errors.AsType[*Panic](err)
	return is
}

// Error says what was thrown, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }
