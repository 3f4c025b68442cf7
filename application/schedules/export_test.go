package schedules

import "time"

// SetTimeout lets a unit take no longer than that.
func (s *Scheduler) SetTimeout(patience time.Duration) { s.timeout = patience }
