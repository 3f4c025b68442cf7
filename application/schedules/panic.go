package schedules

import (
	"fmt"
	"runtime/debug"
)

// Panic is the error that a panic while firing schedules becomes: the unit leaves no
// trace, the schedule that led to it is put off, and the others go on.
type Panic struct {
	Thrown any
	Stack  []byte // of the goroutine that panicked
}

// Error says what was thrown.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Thrown) }

// contain makes an error of a panic, and counts it.
func (s *Scheduler) contain(err *error) {
	if thrown := recover(); thrown != nil {
		s.panics.Add(1)
		*err = &Panic{Thrown: thrown, Stack: debug.Stack()}
	}
}

// Panics returns how many panics were contained since the start.
func (s *Scheduler) Panics() int64 { return s.panics.Load() }
