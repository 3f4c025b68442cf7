package audit

import "time"

// SetPauses sets how long it waits once it is woken, and where nobody wakes it.
func (s *Sealer) SetPauses(woken, poll time.Duration) { s.pause, s.poll = woken, poll }
