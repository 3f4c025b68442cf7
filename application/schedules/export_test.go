package schedules

import "time"

// Impatient lets a unit take no longer than that.
func (s *Scheduler) Impatient(patience time.Duration) { s.patience = patience }
