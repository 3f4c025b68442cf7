package schedules

import "github.com/sluicehq/sluice/ports/inbound"

// recoverPanic makes an error of a panic, and counts it. The unit leaves no trace, the
// schedule that led to it is put off, and the others go on.
func (s *Scheduler) recoverPanic(err *error) {
	if thrown := recover(); thrown != nil {
		s.panics.Add(1)
		*err = inbound.Panicked(thrown)
	}
}

// Panics returns how many panics were contained since the start.
func (s *Scheduler) Panics() int64 { return s.panics.Load() }
