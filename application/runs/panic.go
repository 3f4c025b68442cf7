package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is the error that a panic becomes which is contained, so that the rest of the
// process goes on.
type Panic struct {
	Thrown any
	Stack  []byte // of the goroutine; it shows addresses, and nothing of what a run holds
}

// Error says what was thrown, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Thrown) }

func panicked(thrown any) error { return &Panic{Thrown: thrown, Stack: debug.Stack()} }

func isPanic(err error) bool {
	var thrown *Panic
	return errors.As(err, &thrown)
}

// contained makes an error of a panic.
func (s *shift) contained(what string, fn func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%s: %w", what, panicked(thrown))
		}
	}()
	return fn()
}

// lasting does something to its end, beginning anew after a panic.
func (s *shift) lasting(what string, fn func()) {
	for {
		err := s.contained(what, func() error { fn(); return nil })
		if err == nil {
			return
		}
		s.report(err)
		rest(context.WithoutCancel(s.units), afterFailure)
	}
}
