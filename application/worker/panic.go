package worker

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/ports/inbound"
)

// recoverPanic makes an error of a panic.
func (s *session) recoverPanic(what string, fn func() error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("%s: %w", what, inbound.Panicked(thrown))
		}
	}()
	return fn()
}

// restartOnPanic does something to its end, beginning anew after a panic.
func (s *session) restartOnPanic(what string, fn func()) {
	for {
		err := s.recoverPanic(what, func() error { fn(); return nil })
		if err == nil {
			return
		}
		s.report(err)
		sleep(context.WithoutCancel(s.units), failurePause)
	}
}
