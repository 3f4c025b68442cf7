package schedules

import "time"

// SetTimeout lets a unit take no longer than that.
func (s *Scheduler) SetTimeout(timeout time.Duration) { s.timeout = timeout }
